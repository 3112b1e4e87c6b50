"""`kafkaesque lake …`: the tables that hold what was in topics.

Below: maintain.py; pipelines/lake/, imported on use because it loads pyiceberg.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkaesque.cli.lake.maintain import maintain
from kafkaesque.cli.lake.options import DEFAULT, CatalogSettings, WarehousePlace, lake_at
from kafkaesque.cli.lake.sizes import size_text
from kafkaesque.cli.moments import moment_text
from kafkaesque.cli.output import Format, OutputFormat, echo_columns, echo_data, echo_table

if TYPE_CHECKING:
    from pyiceberg.table import Table

app = typer.Typer(
    name="lake",
    help="Look after the tables that topics are archived to.",
    epilog="Example: kafkaesque lake maintain --warehouse kafkaesque-lake",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def lake() -> None:
    """Look after the tables that topics are archived to."""


@app.command("list")
def list_tables(
    warehouse: WarehousePlace = DEFAULT,
    catalog: CatalogSettings = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """List tables: their rows, files and sizes.

    \b
    Examples:
      kafkaesque lake list
      kafkaesque lake list --warehouse /data/lake --format json
    """
    found = lake_at(warehouse, catalog)
    tables = [_summary(name, found.table(name)) for name in found.names()]
    if output is Format.TABLE:
        heads = ("TABLE", "TOPIC", "ROWS", "FILES", "SIZE", "SNAPSHOTS")
        echo_table(heads, [_row(each) for each in tables])
    else:
        echo_data(tables, output)


@app.command()
def describe(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="As in lake.ticks.")],
    warehouse: WarehousePlace = DEFAULT,
    catalog: CatalogSettings = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show a table's columns, its snapshots, and up to which offset each partition is in it.

    \b
    Examples:
      kafkaesque lake describe lake.stock_json_topic
      kafkaesque lake describe lake.stock_json_topic --format json
    """
    found = _data(table, lake_at(warehouse, catalog).table(table))
    if output is not Format.TABLE:
        echo_data(found, output)
        return
    echo_columns(
        [
            ("TABLE", found["table"]),
            ("TOPIC", found["topic"]),
            ("LOCATION", found["location"]),
            ("ROWS", found["rows"]),
            ("FILES", found["files"]),
            ("SIZE", size_text(found["bytes"])),
            ("MANIFESTS", found["manifests"]),
        ]
    )
    typer.echo()
    echo_table(("COLUMN", "TYPE"), [(each["name"], each["type"]) for each in found["columns"]])
    for head, rows in (
        (("PARTITION", "LAST-OFFSET"), list(found["last_offsets"].items())),
        (
            ("SNAPSHOT", "TIME", "OPERATION"),
            [(each["id"], each["time"], each["operation"]) for each in found["snapshots"]],
        ),
    ):
        if rows:
            typer.echo()
            echo_table(head, rows)


app.command()(maintain)


def _summary(name: str, table: "Table") -> dict[str, Any]:
    from kafkaesque.pipelines.lake.maintenance import figures
    from kafkaesque.pipelines.lake.warehouse import TOPIC

    told = figures(table)
    return {
        "table": name,
        "topic": table.properties.get(TOPIC),
        "rows": told.rows,
        "files": told.files,
        "bytes": told.size_bytes,
        "manifests": told.manifests,
        "snapshots": told.snapshots,
    }


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    size = size_text(found["bytes"])
    return found["table"], found["topic"], found["rows"], found["files"], size, found["snapshots"]


def _data(name: str, table: "Table") -> dict[str, Any]:
    from kafkaesque.pipelines.lake.committing import written_of

    fields = [
        {"name": field.name, "type": str(field.field_type)} for field in table.schema().fields
    ]
    snapshots = [
        {
            "id": each.snapshot_id,
            "time": moment_text(each.timestamp_ms),
            "operation": each.summary.operation.value if each.summary else None,
        }
        for each in table.snapshots()
    ]
    more = {"columns": fields, "snapshots": snapshots, "location": table.location()}
    return {**_summary(name, table), "last_offsets": dict(written_of(table).marks), **more}
