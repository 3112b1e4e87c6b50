"""What `stocks` reads and writes. Loads no Spark. Above: queries.py, cli/pipeline/."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stocks:
    """`delay`: how long a window waits for late ticks. `warehouse`: of the lake, if any."""

    json_topic: str = "stock_json_topic"
    avro_topic: str = "stock_avro_topic"
    candles: str = "stock_ohlc"
    late: str = "stock_late"
    refused: str = "stock_refused"
    delay: str = "10 seconds"
    warehouse: str | None = None
    table: str = "lake.stock_ohlc"
