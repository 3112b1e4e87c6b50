"""`kafkaesque pipeline run upsert`: the newest event of each id, in a table of a database.

Above: run.py. Below: run_options.py; pipelines/upsert.py, imported on use.
"""

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from kafkaesque.cli.options import parse_pair
from kafkaesque.cli.pipeline.run_options import Form, given_name, require_spark, run_pipeline

if TYPE_CHECKING:
    from kafkaesque.pipelines.tables.columns import ColumnType


def upsert(
    context: typer.Context,
    topic: Annotated[str, typer.Option(help="Topic to read, one alone.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="KAFKAESQUE_DATABASE",
            help="The database: sqlite:///FILE, postgresql://… or cockroachdb://…",
        ),
    ],
    table: Annotated[str, typer.Option(help="Its table; made if it is not there.")],
    key: Annotated[
        str, typer.Option(metavar="FIELD", help="The field that is the id of an event.")
    ] = "id",
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=TYPE",
            help="A column whose type events should not decide: text, bigint, double, boolean, "
            "timestamp or json; may be repeated.",
        ),
    ] = None,
    decode: Annotated[
        Form | None,
        typer.Option(
            metavar="FORM",
            help="Read values by the registry's schema: json, avro or protobuf; "
            "else they are JSON without one.",
        ),
    ] = None,
    dead_letters: Annotated[
        str | None,
        typer.Option(
            "--dead-letters",
            metavar="TOPIC",
            help="Where events go that cannot be read; else they stop the pipeline.",
        ),
    ] = None,
    patience_s: Annotated[
        float,
        typer.Option("--patience", min=0, help="Seconds to wait for a database that is away."),
    ] = 60.0,
    batch_rows: Annotated[
        int, typer.Option("--batch-rows", min=1, help="Events in a batch, at most.")
    ] = 200_000,
) -> None:
    """Keep the newest event of each id in a table of a database, until Ctrl-C.

    \b
    Examples:
      kafkaesque pipeline run upsert --topic orders --to sqlite:///orders.db --table orders
      kafkaesque pipeline run upsert --topic orders --to postgresql://ada@db/shop --table orders \\
        --key number --column price=double --dead-letters orders.dead --once
    """
    require_spark()
    from kafkaesque.pipelines.upsert import Counts, start

    counts = Counts()
    given = dict(parse_pair(each, "price=double") for each in column or ())
    start_it = partial(
        start,
        topic=topic,
        to=to,
        table=table,
        key=key,
        columns=cast("dict[str, ColumnType]", given),
        decode=None if decode is None else decode.value,
        dead_letters=dead_letters,
        patience_s=patience_s,
        batch_rows=batch_rows,
        counts=counts,
    )
    try:
        run_pipeline(context, start_it, given_name(context) or "upsert")
    finally:
        refused = f", {counts.refused:,} could not be read" if counts.refused else ""
        typer.echo(f"{table}: {counts.rows:,} rows written, of {counts.events:,} events{refused}")
