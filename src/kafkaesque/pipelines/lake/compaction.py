"""Many small files become few large ones; rows, marks and properties stay as they are.

Files below three quarters of the target are taken in the order of their rows (by partition and
offset where there are such columns), as many at a time as make one of the target's size. Each such
exchange is a commit of its own: whoever appends meanwhile is not disturbed, and when this is killed
in between, what is done is done. Files that somebody has deleted rows from are left alone.

Manifests, the lists of files, are put together as well: one for 8 MB of them.
Above: maintenance.py. Below: committing.py, files.py, rows.py, pyiceberg.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafkaesque.pipelines.lake import files, schemas
from kafkaesque.pipelines.lake.committing import data_file, on_top
from kafkaesque.pipelines.lake.files import Place, Staged
from kafkaesque.pipelines.lake.rows import RowScan
from kafkaesque.pipelines.lake.warehouse import Warehouse

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table

_ORDER = ("partition", "offset", "timestamp")
_DONE = {"kafkaesque.maintained": "compaction"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """Files that become one."""

    tasks: "tuple[FileScanTask, ...]"

    @property
    def size_bytes(self) -> int:
        return sum(task.file.file_size_in_bytes for task in self.tasks)


def exchanges(table: "Table", target_bytes: int) -> list[Exchange]:
    """What there is to do."""
    # pyiceberg has the newest first.
    tasks = [*table.scan().plan_files()][::-1]
    small = [
        task
        for task in tasks
        if task.file.file_size_in_bytes < target_bytes * 3 // 4 and not task.delete_files
    ]
    bounds = _Bounds(table)
    found: list[list[FileScanTask]] = []
    room = 0
    for task in sorted(small, key=bounds):
        if not found or room <= 0:
            found.append([])
            room = target_bytes
        found[-1].append(task)
        room -= task.file.file_size_in_bytes
    return [Exchange(tuple(each)) for each in found if len(each) > 1]


def exchange(warehouse: Warehouse, name: str, table: "Table", work: Exchange) -> bool:
    """False if another one did it meanwhile, or the files are gone for another reason."""
    from pyiceberg.exceptions import ValidationException

    place = _place(table)
    staged = files.write(_rows(table, work.tasks), place)

    def attempt(fresh: "Table") -> bool:
        _replace(fresh, work, staged)
        return True

    try:
        return on_top(lambda: warehouse.table(name), attempt, name)
    except ValidationException:
        files.remove((each.path for each in staged), place)
        return False


def merge_manifests(warehouse: Warehouse, name: str) -> bool:
    """Whether there were several of them."""

    def attempt(table: "Table") -> bool:
        if len(manifests(table)) < 2:
            return False
        table.metadata.properties["commit.manifest-merge.enabled"] = "true"
        table.metadata.properties["commit.manifest.min-count-to-merge"] = "1"
        transaction = table.transaction()
        transaction.update_snapshot(snapshot_properties=_DONE).merge_append().commit()
        transaction.commit_transaction()
        return True

    return on_top(lambda: warehouse.table(name), attempt, name)


def manifests(table: "Table") -> list[Any]:
    snapshot = table.current_snapshot()
    return [] if snapshot is None else snapshot.manifests(table.io)


class _Bounds:
    """Where a file's rows begin."""

    def __init__(self, table: "Table") -> None:
        schema = table.schema()
        fields = [field for name in _ORDER for field in schema.fields if field.name == name]
        self._fields = [(field.field_id, field.field_type) for field in fields]

    def __call__(self, task: "FileScanTask") -> list[tuple[bool, Any]]:
        return [self._bound(task, number, kind) for number, kind in self._fields]

    def _bound(self, task: "FileScanTask", number: int, kind: Any) -> tuple[bool, Any]:
        from pyiceberg.conversions import from_bytes

        found = (task.file.lower_bounds or {}).get(number)
        return (False, 0) if found is None else (True, from_bytes(kind, found))


def _place(table: "Table") -> Place:
    directory = table.properties.get("write.data.path", f"{table.location()}/data")
    # One file for each exchange: its size is known beforehand, near enough.
    schema = schemas.of_table(table.schema())
    return Place(schema, directory, 1 << 62, None, dict(table.io.properties))


def _rows(table: "Table", tasks: "Sequence[FileScanTask]") -> Iterator[pa.Table]:
    from pyiceberg.expressions import AlwaysTrue

    scan = RowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    for task in tasks:
        yield from scan.read(task)


def _replace(table: "Table", work: Exchange, staged: Sequence[Staged]) -> None:
    from pyiceberg.expressions import AlwaysTrue

    transaction = table.transaction()
    with transaction.update_snapshot(snapshot_properties=_DONE).overwrite() as overwrite:
        # pyiceberg looks for the files only in manifests that this may concern: in all of them.
        overwrite.delete_by_predicate(AlwaysTrue())
        for task in work.tasks:
            overwrite.delete_data_file(task.file)
        for each in staged:
            overwrite.append_data_file(data_file(transaction.table_metadata, each))
    transaction.commit_transaction()
