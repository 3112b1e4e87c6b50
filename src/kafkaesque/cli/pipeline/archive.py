"""`kafkaesque pipeline run archive`: topics to tables of a lake.

Above: run.py. Below: run_options.py, cli/lake/options.py; pipelines/archive.py, imported on use.
"""

from functools import partial
from typing import Annotated, Any

import typer

from kafkaesque.cli.lake.options import DEFAULT, CatalogSettings, WarehousePlace, catalog_settings
from kafkaesque.cli.lake.sizes import parse_size
from kafkaesque.cli.pipeline.run_options import (
    Form,
    RunCommand,
    given_name,
    require_spark,
    run_pipeline,
)


class ArchiveCommand(RunCommand):
    """Its batches are rarer than others': each one writes files."""

    interval = "10 seconds"


def archive(
    context: typer.Context,
    topic: Annotated[
        list[str], typer.Option("--topic", "-t", help="Topic to archive; may be repeated.")
    ],
    warehouse: WarehousePlace = DEFAULT,
    catalog: CatalogSettings = None,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="Tables are called NAME.<topic>.")
    ] = "lake",
    decode: Annotated[
        Form | None,
        typer.Option(
            metavar="FORM",
            help="Keep values as typed columns, by the registry's schema: json, avro or protobuf; "
            "else they are kept as bytes.",
        ),
    ] = None,
    value_schema: Annotated[
        str | None,
        typer.Option(
            "--value-schema",
            metavar="DDL",
            help="For JSON without a registry, as in 'ticker STRING, price DOUBLE'.",
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(
            "--dead-letters",
            metavar="TOPIC",
            help="Where records go that cannot be decoded; else they are kept with their error.",
        ),
    ] = None,
    rows_per_batch: Annotated[
        int, typer.Option("--rows-per-batch", min=1, metavar="N", help="At most so many a batch.")
    ] = 5_000_000,
    target_size: Annotated[
        str, typer.Option("--target-size", metavar="SIZE", help="Files are no larger than this.")
    ] = "128MiB",
) -> None:
    """Write topics to Iceberg tables, from their beginning on, until Ctrl-C.

    Every record is in its table once, whatever is killed. A longer interval makes larger files and
    staler tables; `kafkaesque lake maintain` merges the small ones.

    \b
    Examples:
      kafkaesque pipeline run archive --topic stock_json_topic
      kafkaesque pipeline run archive -t orders -t payments --warehouse /data/lake --once
      kafkaesque pipeline run archive -t stock_avro_topic --decode avro
    """
    require_spark()
    from kafkaesque.pipelines.archive import start

    form = None if decode is None else decode.value
    given = {"decode": form, "valueSchema": value_schema, "deadLetterTopic": dead_letters}
    reading: dict[str, Any] = {key: text for key, text in given.items() if text is not None}
    start_it = partial(
        start,
        topics=topic,
        warehouse=warehouse,
        catalog=catalog_settings(catalog),
        namespace=namespace,
        rows_per_batch=rows_per_batch,
        target_bytes=parse_size(target_size),
        **reading,
    )
    run_pipeline(context, start_it, given_name(context) or "archive")
