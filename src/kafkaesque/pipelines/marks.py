"""How a sink knows what it has written already, also when the query's checkpoint is lost.

A mark says of a group of rows how far they are written: of a partition its last offset, of windows
the end of the last one. Rows at or below the mark of their group are a replay. A query that keeps
its checkpoint is known by the number of its batch as well, which needs no column.

    Written("q-7", 41, {"ticks/0": 1203, "ticks/1": 998})     kept by the sink, in the same
                                                              transaction as the rows

`MarkColumns` names the column that rises and the columns that make a group:
`MarkColumns("offset", ("topic", "partition"))` for rows of topics, `MarkColumns("end")` for windows
as they are closed. Pure. Above: sink/, lake/.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class MarkColumns:
    rising: str
    group: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What a sink has written: `query` and its `batch`, and the marks of all there is."""

    query: str = ""
    batch: int = -1
    marks: Mapping[str, int] = field(default_factory=dict)

    def has(self, query: str, batch: int) -> bool:
        """Whether the batch is a replay as a whole."""
        return query == self.query and batch <= self.batch

    def after(self, query: str, batch: int, marks: Mapping[str, int]) -> "Written":
        highest = {name: max(mark, self.marks.get(name, mark)) for name, mark in marks.items()}
        return Written(query, batch, {**self.marks, **highest})

    def to_json(self) -> str:
        kept = {"query": self.query, "batch": self.batch, "marks": dict(self.marks)}
        return json.dumps(kept, separators=(",", ":"), sort_keys=True)

    @classmethod
    def of_json(cls, text: str) -> "Written":
        """Raises ValueError for what `to_json` has not written."""
        try:
            kept = json.loads(text)
            marks = {str(name): int(mark) for name, mark in kept["marks"].items()}
            return cls(str(kept["query"]), int(kept["batch"]), marks)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"{text[:80]!r} does not say what was written") from error


def highest(rows: pa.Table, columns: MarkColumns) -> dict[str, int]:
    """The mark of each group in these rows."""
    return {name: mark for name, _, mark in _edges(rows, columns)}


def lowest(rows: pa.Table, columns: MarkColumns) -> dict[str, int]:
    """Where each group in these rows begins."""
    return {name: mark for name, mark, _ in _edges(rows, columns)}


def unwritten(rows: pa.Table, columns: MarkColumns, marks: Mapping[str, int]) -> pa.Table:
    """The rows above the mark of their group, in the order in which they came."""
    replayed = [
        name for name, least, _ in _edges(rows, columns) if least <= marks.get(name, least - 1)
    ]
    if not replayed:
        return rows
    names = _names(rows, columns)
    known = pa.array(list(marks), pa.string())
    places = pc.index_in(names, known)
    limits = pc.take(pa.array(list(marks.values()), pa.int64()), places)
    return rows.filter(pc.fill_null(pc.greater(_numbers(rows, columns), limits), True))


def _edges(rows: pa.Table, columns: MarkColumns) -> list[tuple[str, int, int]]:
    if not rows.num_rows:
        return []
    table = pa.table({"name": _names(rows, columns), "mark": _numbers(rows, columns)})
    found = table.group_by("name").aggregate([("mark", "min"), ("mark", "max")])
    edges: list[dict[str, Any]] = found.to_pylist()
    return [(each["name"], each["mark_min"], each["mark_max"]) for each in edges]


def _names(rows: pa.Table, columns: MarkColumns) -> pa.Array | pa.ChunkedArray:
    """As in "ticks/0"; "" if all rows are one group."""
    if not columns.group:
        return pa.repeat(pa.scalar("", pa.string()), rows.num_rows)
    texts = [rows[name].cast(pa.string()) for name in columns.group]
    return pc.binary_join_element_wise(*texts, "/") if len(texts) > 1 else texts[0]


def _numbers(rows: pa.Table, columns: MarkColumns) -> pa.ChunkedArray:
    """A time is its microseconds."""
    rising = rows[columns.rising]
    if pa.types.is_timestamp(rising.type):
        rising = rising.cast(pa.timestamp("us", rising.type.tz)).cast(pa.int64())
    return rising.cast(pa.int64())
