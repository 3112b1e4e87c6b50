"""Rows on their way into a table, and the events they come from.

A row is an id, its fields (None: the id is deleted), and its version, which is the place of its
event. Versions are compared as a whole: the time alone would let the order of arrival decide
between two events of the same millisecond. Within a table no two events share a version, so
a table is fed from one topic.

Above: table.py, handlers. Below: errors.py, event.py.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from kafkaesque.event import Event
from kafkaesque.pipelines.tables.errors import RowError

VERSION = ("kafka_ts", "kafka_partition", "kafka_offset")
_ID, _VERSION = itemgetter(0), itemgetter(2, 3, 4)


class Row(NamedTuple):
    """`fields` may hold the id as well. Those that an earlier version had and this one has not
    become NULL: a row is a whole value, not a change to one."""

    id: Any
    fields: Mapping[str, Any] | None
    kafka_ts: int
    kafka_partition: int
    kafka_offset: int

    def __str__(self) -> str:
        return f"row {self.id!r} (partition {self.kafka_partition}, offset {self.kafka_offset})"


def row_of(event: Event, key: str = "id") -> Row:
    """The row of an event whose value is a dict. An event without a value deletes the row that its
    key names."""
    place = (event.timestamp, event.partition, event.offset)
    where = f"{event.topic}/{event.partition} @{event.offset}"
    value = event.value
    if value is None:
        return Row(_id_in(event.key, where), None, *place)
    if not isinstance(value, Mapping):
        raise RowError(
            f"{where}: the value is of type {type(value).__name__}, not a dict: "
            'give the handler value="json", or make a Row of it yourself'
        )
    if value.get(key) is None:
        raise RowError(
            f"{where}: the value has no field {key!r}, which is the key of the table: "
            "name another key, or leave such events out"
        )
    return Row(value[key], value, *place)


def latest(rows: Iterable[Row]) -> list[Row]:
    """The newest row of each id. TypeError if a version is not of numbers, or an id is a list."""
    # Rows come nearly in this order: to sort them is cheaper than to compare them one by one.
    ordered = sorted(rows, key=_VERSION, reverse=True)
    newest: dict[Any, Row] = {}
    # The first of each id stays; nothing is kept of what setdefault says of the others.
    deque(map(newest.setdefault, map(_ID, ordered), ordered), maxlen=0)
    return list(newest.values())


def _id_in(key: Any, where: str) -> Any:
    if isinstance(key, bytes):
        try:
            return key.decode()
        except UnicodeDecodeError:
            raise RowError(
                f"{where}: deletes the row that its key names, and the key is not UTF-8: "
                "give the handler the form of the key"
            ) from None
    if key is None:
        raise RowError(f"{where}: has neither value nor key, so it names no row to delete")
    return key
