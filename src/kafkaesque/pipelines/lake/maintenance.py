"""What keeps a table quick: large files, few manifests, no snapshots or files that nobody needs.

    compaction → manifests → expiry → orphans

Each step is safe beside writers and readers, and after a kill in any place: the next run goes on.
Above: cli/lake/maintain.py. Below: compaction.py, expiry.py, sweeping.py.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkaesque.pipelines.lake import compaction, sweeping
from kafkaesque.pipelines.lake.errors import explained
from kafkaesque.pipelines.lake.expiry import expire, expired
from kafkaesque.pipelines.lake.files import TARGET_BYTES
from kafkaesque.pipelines.lake.warehouse import Warehouse

if TYPE_CHECKING:
    from pyiceberg.table import Table

DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Upkeep:
    """How far to go. `dry_run`: only say what would be done."""

    target_bytes: int = TARGET_BYTES
    keep_snapshots: int = 10
    snapshots_older_ms: int = DAY_MS
    orphans_older_ms: int = DAY_MS
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    rows: int
    files: int
    size_bytes: int
    manifests: int
    snapshots: int


@dataclass(frozen=True, slots=True)
class Report:
    """`merged` files became fewer; `removed` are those of snapshots, and orphans."""

    table: str
    before: Figures
    after: Figures
    merged: int
    expired: int
    removed: int


def figures(table: "Table") -> Figures:
    snapshot = table.current_snapshot()
    summary = snapshot.summary if snapshot is not None else None
    told = {} if summary is None else summary.additional_properties
    return Figures(
        int(told.get("total-records", 0)),
        int(told.get("total-data-files", 0)),
        int(told.get("total-files-size", 0)),
        len(compaction.manifests(table)),
        len(table.snapshots()),
    )


def maintain(
    warehouse: Warehouse, name: str, upkeep: Upkeep, tell: Callable[[str], None]
) -> Report:
    """Raises LakeError."""
    table = warehouse.table(name)
    with explained(f"maintain {name}"):
        before = figures(table)
        if upkeep.dry_run:
            return _foreseen(table, name, before, upkeep)
        merged = _compact(warehouse, name, table, upkeep.target_bytes, tell)
        compaction.merge_manifests(warehouse, name)
        limit_ms = _ago_ms(upkeep.snapshots_older_ms)
        forgotten, removed = expire(warehouse, name, upkeep.keep_snapshots, limit_ms)
        table = warehouse.table(name)
        left = sweeping.orphans(table, _ago_ms(upkeep.orphans_older_ms))
        removed += sweeping.remove(table, (each.path for each in left))
        return Report(name, before, figures(table), merged, forgotten, removed)


def _compact(
    warehouse: Warehouse, name: str, table: "Table", target_bytes: int, tell: Callable[[str], None]
) -> int:
    work = compaction.exchanges(table, target_bytes)
    total = sum(len(each.tasks) for each in work)
    done = merged = 0
    for each in work:
        if compaction.exchange(warehouse, name, table, each):
            merged += len(each.tasks)
        done += len(each.tasks)
        tell(f"{name}: {done} of {total} small files merged")
    return merged


def _foreseen(table: "Table", name: str, before: Figures, upkeep: Upkeep) -> Report:
    work = compaction.exchanges(table, upkeep.target_bytes)
    merged = sum(len(each.tasks) for each in work)
    gone = expired(table, upkeep.keep_snapshots, _ago_ms(upkeep.snapshots_older_ms))
    left = sweeping.orphans(table, _ago_ms(upkeep.orphans_older_ms))
    after = Figures(
        before.rows,
        before.files - merged + len(work),
        before.size_bytes,
        min(before.manifests, 1),
        before.snapshots - len(gone),
    )
    return Report(name, before, after, merged, len(gone), len(left))


def _ago_ms(age_ms: int) -> int:
    return int(time.time() * 1000) - age_ms
