"""Old snapshots are forgotten, and with them the files that only they had.

The newest are kept, however old, and so is what a branch or a tag points at. Marks are properties
of the table, not of a snapshot: they stay. Above: maintenance.py. Below: sweeping.py, pyiceberg.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkaesque.pipelines.lake import sweeping
from kafkaesque.pipelines.lake.committing import on_top
from kafkaesque.pipelines.lake.warehouse import Warehouse

if TYPE_CHECKING:
    from pyiceberg.table import Table


def expired(table: "Table", keep: int, before_ms: int) -> list[int]:
    """The ids of snapshots from before that time, but for the newest `keep` and those in use."""
    newest = sorted(table.snapshots(), key=lambda each: each.sequence_number or 0)
    used = {ref.snapshot_id for ref in table.refs().values()}
    return [
        each.snapshot_id
        for each in newest[: max(0, len(newest) - keep)]
        if each.timestamp_ms < before_ms and each.snapshot_id not in used
    ]


def expire(warehouse: Warehouse, name: str, keep: int, before_ms: int) -> tuple[int, int]:
    """How many snapshots are forgotten, and how many files were removed for it."""
    before: set[str] = set()

    def attempt(table: "Table") -> Sequence[int]:
        found = expired(table, keep, before_ms)
        if found:
            before.update(sweeping.needed(table))
            table.maintenance.expire_snapshots().by_ids(found).commit()
        return found

    forgotten = on_top(lambda: warehouse.table(name), attempt, name)
    table = warehouse.table(name)
    files = before - sweeping.needed(table) if forgotten else set()
    return len(forgotten), sweeping.remove(table, sorted(files))
