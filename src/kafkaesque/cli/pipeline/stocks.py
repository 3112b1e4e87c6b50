"""`kafkaesque pipeline run stocks`: ticks to candles.

Above: run.py. Below: run_options.py; pipelines/stocks/, imported on use.
"""

from functools import partial
from typing import Annotated

import typer

from kafkaesque.cli.pipeline.run_options import given_name, require_spark, run_pipeline


def stocks(
    context: typer.Context,
    json_topic: Annotated[
        str, typer.Option("--json-topic", metavar="TOPIC", help="Ticks as JSON.")
    ] = "stock_json_topic",
    avro_topic: Annotated[
        str,
        typer.Option(
            "--avro-topic", metavar="TOPIC", help="Ticks as Avro, if --registry is given."
        ),
    ] = "stock_avro_topic",
    to: Annotated[str, typer.Option(metavar="TOPIC", help="Candles go there.")] = "stock_ohlc",
    delay: Annotated[
        str,
        typer.Option(metavar="TIME", help="How long a window waits for late ticks."),
    ] = "10 seconds",
    warehouse: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Write closed candles to lake.stock_ohlc as well, in this lake."
        ),
    ] = None,
) -> None:
    """Make candles of stock ticks, until Ctrl-C.

    Open, high, low, close, average, volatility and count of each ticker: of every minute while it
    moves, and of five minutes every minute. Ticks that come too late go to stock_late, those that
    cannot be read to stock_refused.

    \b
    Examples:
      kafkaesque pipeline run stocks
      kafkaesque pipeline run stocks --registry http://127.0.0.1:8081 --warehouse lake
      kafkaesque pipeline run stocks --delay '1 minute' --once
    """
    require_spark()
    from kafkaesque.pipelines.stocks import Stocks, start

    chosen = Stocks(
        json_topic=json_topic, avro_topic=avro_topic, candles=to, delay=delay, warehouse=warehouse
    )
    run_pipeline(context, partial(start, stocks=chosen), given_name(context) or "stocks")
