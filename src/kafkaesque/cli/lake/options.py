"""Where the lake is: what all commands that use one ask for.

Above: app.py, maintain.py, cli/pipeline/archive.py. Below: pipelines/lake/warehouse.py, imported on
use because it loads pyiceberg.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kafkaesque.cli.output import CommandError

if TYPE_CHECKING:
    from kafkaesque.pipelines.lake.warehouse import Warehouse

DEFAULT = "kafkaesque-lake"

WarehousePlace: TypeAlias = Annotated[
    str,
    typer.Option(
        "--warehouse",
        "-w",
        metavar="DIR",
        envvar="KAFKAESQUE_WAREHOUSE",
        help="The directory of the lake, or an address that the catalog knows.",
    ),
]
CatalogSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog",
        metavar="KEY=VALUE",
        show_default=False,
        help="A setting of a pyiceberg catalog, as in type=rest; can be repeated. "
        "Without: SQLite in the warehouse.",
    ),
]


def catalog_settings(pairs: Iterable[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"--catalog {pair}: write it as KEY=VALUE")
        found[key.removeprefix("catalog.")] = text
    return found


def lake_at(place: str, settings: Iterable[str] | None) -> "Warehouse":
    """One that is there: asking for a lake makes none."""
    from kafkaesque.pipelines.lake.warehouse import Warehouse

    warehouse = Warehouse.of(place, catalog_settings(settings))
    if not warehouse.is_there():
        raise CommandError(
            f"there is no lake at {place}: `kafkaesque pipeline run archive` makes one; "
            "another place is named by --warehouse"
        )
    return warehouse
