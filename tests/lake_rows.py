"""What tests of the lake share: rows written without Spark, and read back by others' means."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from kafkaesque.pipelines.lake import files, schemas
from kafkaesque.pipelines.lake.committing import commit
from kafkaesque.pipelines.lake.files import Place, Staged
from kafkaesque.pipelines.lake.options import WriteOptions
from kafkaesque.pipelines.lake.warehouse import Warehouse
from kafkaesque.pipelines.marks import MarkColumns

NAME = "lake.ticks"
OFFSETS = MarkColumns("offset", ("partition",))


def foreign_table(place: Path, name: str = NAME) -> Table:
    """As a user of pyiceberg opens it, without a line of ours."""
    uri = f"sqlite:///{place}/catalog.db"
    return load_catalog("lake", type="sql", uri=uri, warehouse=f"file://{place}").load_table(name)


def foreign_rows(place: Path, name: str = NAME) -> list[dict[str, Any]]:
    """By pyiceberg's own scan, which must agree with the files that it names.

    Lists that are null are taken from the files: pyiceberg 0.12 reads them as empty ones.
    """
    table = foreign_table(place, name)
    rows: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    paths = [task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()]
    if not paths:
        return rows
    wanted = [
        each for each in ("partition", "offset", "headers") if each in table.schema().column_names
    ]
    read = pa.concat_tables([pq.read_table(path, columns=wanted) for path in paths])
    rows.sort(key=_order)
    for row, plain in zip(rows, sorted(read.to_pylist(), key=_order), strict=True):
        assert _order(row) == _order(plain)
        if "headers" in row and plain["headers"] is None:
            row["headers"] = row["headers"] or None
    return rows


def _order(row: dict[str, Any]) -> tuple[int, int]:
    return row["partition"], row["offset"]


def places(place: Path, name: str = NAME) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in foreign_rows(place, name)]


def ticks(first: int, stop: int, partition: int = 0, **columns: pa.Array) -> pa.Table:
    count = stop - first
    return pa.table(
        {
            "partition": pa.array([partition] * count, pa.int32()),
            "offset": pa.array(range(first, stop), pa.int64()),
            "value": pa.array([b"%d" % each for each in range(first, stop)], pa.binary()),
            **columns,
        }
    )


class Lake:
    """Writes as the sink does: a task stages, then there is a commit."""

    def __init__(self, place: Path) -> None:
        self.options = WriteOptions(Warehouse.of(str(place)), NAME, OFFSETS)

    def stage(self, rows: pa.Table) -> tuple[Place, list[Staged]]:
        table = self.options.warehouse.ensured(NAME, rows.schema, {})
        directory = f"{table.location()}/data"
        place = Place(schemas.planned(table, rows.schema), directory, marks=OFFSETS)
        return place, files.write(rows.to_batches(), place)

    def commit(
        self,
        staged: Sequence[tuple[Place, list[Staged]]],
        schema: pa.Schema,
        query: str,
        batch: int,
    ) -> int:
        every = [file for _, found in staged for file in found]
        return commit(self.options, schema, staged[0][0], every, query, batch)

    def write(self, rows: pa.Table, query: str = "q", batch: int = 0) -> int:
        return self.commit([self.stage(rows)], rows.schema, query, batch)

    @property
    def data(self) -> list[Path]:
        """The files of rows that there are, committed or not."""
        return sorted(Path(self.options.warehouse.place).glob("lake/ticks/data/*"))
