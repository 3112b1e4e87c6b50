"""Which columns the rows have, and what each becomes in a record: those of the official connector.

    value binary or string; null writes a tombstone
    [key binary or string] [topic string] [partition int] [headers array of (key string, value
    binary)] [mark columns]

A mark column says where a row comes from, not where it goes: `topic` and `partition` that are named
in markBy are the source's. Above: stream.py, batch.py, committer.py. Below: options.py, marks.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from kafkaesque.pipelines.sink.options import SinkOptions
from kafkaesque.pipelines.source.security import OptionsError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_BYTES = ("binary", "string")
_TYPES = {
    "key": _BYTES,
    "value": _BYTES,
    "topic": ("string",),
    "partition": ("int", "smallint", "tinyint"),
    "headers": ("array<struct<key:string,value:binary>>",),
}
_RISING = ("bigint", "int", "smallint", "tinyint", "timestamp", "timestamp_ntz")
_ANY_PARTITION = -1


@dataclass(frozen=True, slots=True)
class Layout:
    """`topic` is where all rows go, or None: then a column says so."""

    topic: str | None
    has_key: bool
    has_partition: bool
    has_headers: bool

    @classmethod
    def of(cls, schema: "StructType", options: SinkOptions) -> "Layout":
        """Raises OptionsError for columns that cannot be written."""
        types = {field.name: field.dataType.simpleString() for field in schema.fields}
        own = set(types) - _mark_columns(types, options)
        _require(types, own, options)
        return cls(
            topic=options.topic,
            has_key="key" in own,
            has_partition="partition" in own,
            has_headers="headers" in own,
        )

    def topics(self, rows: pa.RecordBatch | pa.Table) -> list[str]:
        if self.topic is not None:
            return [self.topic]
        named: list[str | None] = pc.unique(rows["topic"]).to_pylist()
        found = [name for name in named if name]
        if len(found) < len(named):
            raise OptionsError("a row names no topic: fill the column topic, or give the option")
        return found

    def records(self, rows: pa.RecordBatch | pa.Table) -> Iterator[tuple[Any, ...]]:
        """As `Producer.produce` takes them: topic, value, key, partition[, None, None, 0,
        headers]."""
        topics = repeat(self.topic) if self.topic is not None else rows["topic"].to_pylist()
        keys = rows["key"].to_pylist() if self.has_key else repeat(None)
        partitions: Any = repeat(_ANY_PARTITION)
        if self.has_partition:
            partitions = pc.fill_null(rows["partition"], _ANY_PARTITION).to_pylist()
        columns: list[Any] = [topics, rows["value"].to_pylist(), keys, partitions]
        if self.has_headers:
            # By place, `produce` takes a callback twice, by each of its two names.
            headers = map(_pairs, rows["headers"].to_pylist())
            columns += [repeat(None), repeat(None), repeat(0), headers]
        # The values end it: what is repeated never does.
        return zip(*columns, strict=False)


def _pairs(headers: list[dict[str, Any]] | None) -> list[tuple[str, bytes | None]]:
    return [(each["key"], each["value"]) for each in headers or ()]


def _mark_columns(types: dict[str, str], options: SinkOptions) -> set[str]:
    if options.marks is None:
        return set()
    named = {options.marks.rising, *options.marks.group}
    if missing := sorted(named - set(types)):
        raise OptionsError(
            f"the rows have no column {', '.join(missing)}, which markColumn or markBy names: "
            "select it as well"
        )
    if types[options.marks.rising] not in _RISING:
        raise OptionsError(
            f"markColumn {options.marks.rising} is of type {types[options.marks.rising]}: "
            "it has to be a whole number or a time"
        )
    return named


def _require(types: dict[str, str], own: set[str], options: SinkOptions) -> None:
    if "value" not in own:
        raise OptionsError("the rows have no column value: select one, as in to_json(struct(*))")
    if options.topic is None and "topic" not in own:
        raise OptionsError("no topic is named: give the option topic, or a column of that name")
    for name in sorted(own):
        if name not in _TYPES:
            raise OptionsError(
                f"column {name} has no place in a record: leave it out, put it into value, or "
                f"name it in markColumn or markBy ({', '.join(_TYPES)} are written)"
            )
        if types[name] not in _TYPES[name]:
            raise OptionsError(
                f"column {name} is of type {types[name]}: cast it to {' or '.join(_TYPES[name])}"
            )
