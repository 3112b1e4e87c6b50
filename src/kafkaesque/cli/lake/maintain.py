"""`kafkaesque lake maintain`: large files, few manifests, no snapshots that nobody needs.

Exit code 1 says that a table could not be maintained; the others are. Above: app.py. Below:
pipelines/lake/maintenance.py, imported on use because it loads pyiceberg.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.durations import parse_duration
from kafkaesque.cli.lake.options import DEFAULT, CatalogSettings, WarehousePlace, lake_at
from kafkaesque.cli.lake.sizes import parse_size, size_text
from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table, tell
from kafkaesque.errors import StartError

if TYPE_CHECKING:
    from kafkaesque.pipelines.lake.maintenance import Report

HEADS = ("TABLE", "FILES", "SIZE", "MANIFESTS", "SNAPSHOTS", "MERGED", "EXPIRED", "REMOVED")


def maintain(
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE]...", show_default=False, help="As in lake.ticks; or all."),
    ] = None,
    warehouse: WarehousePlace = DEFAULT,
    catalog: CatalogSettings = None,
    target_size: Annotated[
        str, typer.Option("--target-size", metavar="SIZE", help="How large files are to become.")
    ] = "128MiB",
    keep_snapshots: Annotated[
        int,
        typer.Option("--keep-snapshots", min=1, metavar="N", help="So many are kept, however old."),
    ] = 10,
    older_than: Annotated[
        str,
        typer.Option("--older-than", metavar="DURATION", help="Snapshots of this age expire."),
    ] = "1d",
    orphans_older_than: Annotated[
        str,
        typer.Option(
            "--orphans-older-than",
            metavar="DURATION",
            help="Files of no table that were not touched for so long are removed. "
            "Longer than a batch takes: those of a batch that is being written are among them.",
        ),
    ] = "1d",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Merge small files, and remove what no snapshot needs any more.

    Rows and the offsets that an archive goes on from stay as they are. It can run while tables are
    being written and read, and be broken off at any time. The exit code is 1 if a table failed.

    \b
    Examples:
      kafkaesque lake maintain
      kafkaesque lake maintain lake.stock_json_topic --target-size 256MiB --older-than 1h
      kafkaesque lake maintain --dry-run --format json
    """
    from kafkaesque.pipelines.lake.maintenance import Upkeep
    from kafkaesque.pipelines.lake.maintenance import maintain as maintain_table

    upkeep = Upkeep(
        parse_size(target_size),
        keep_snapshots,
        parse_duration(older_than),
        parse_duration(orphans_older_than),
        dry_run,
    )
    found = lake_at(warehouse, catalog)
    reports: list[Report] = []
    failed = False
    for name in tables or found.names():
        try:
            reports.append(maintain_table(found, name, upkeep, tell))
        except StartError as error:
            tell(str(error))
            failed = True
    if output is Format.TABLE:
        echo_table(HEADS, [_row(each) for each in reports])
    else:
        echo_data([{**asdict(each), "dry_run": dry_run} for each in reports], output)
    if failed:
        raise typer.Exit(1)


def _row(report: "Report") -> tuple[object, ...]:
    before, after = report.before, report.after
    return (
        report.table,
        f"{before.files} → {after.files}",
        f"{size_text(before.size_bytes)} → {size_text(after.size_bytes)}",
        f"{before.manifests} → {after.manifests}",
        f"{before.snapshots} → {after.snapshots}",
        report.merged,
        report.expired,
        report.removed,
    )
