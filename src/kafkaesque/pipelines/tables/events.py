"""Events as Spark collects them, Arrow tables, on their way to be rows of a table.

    texts(events, key)      the columns key, value (bytes that are JSON objects), topic, partition,
                            offset, timestamp [, headers]: rows, and the events that are none
    structs(events, key)    the same, but each value is a struct, as the source's `decode` makes it
    fields(frame, key)      a column for each field, beside partition, offset and timestamp

An event without a value deletes what its key names. Of structs and fields, the newest of each id
are found before any of them becomes a Python object. Types that no column has become what JSON
would make of them: a date, a decimal, a length of time and bytes (base64) are text.
Pure. Above: upsert.py. Below: rows.py.
"""

import base64
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kafkaesque.event import Event
from kafkaesque.pipelines.tables.columns import ColumnType
from kafkaesque.pipelines.tables.errors import RowError
from kafkaesque.pipelines.tables.rows import Row, row_of
from kafkaesque.pipelines.tables.statements import DELETED

PLACE = ("timestamp", "partition", "offset")
ERROR = "_error"


@dataclass(frozen=True, slots=True)
class Read:
    rows: list[Row]
    refused: list[tuple[Event, RowError]] = field(default_factory=list)


def texts(events: pa.Table, key: str) -> Read:
    values = events["value"].to_pylist()
    try:
        found = list(map(orjson.loads, values))
        ids = [each[key] for each in found]
        if None not in ids and set(map(type, found)) <= {dict}:
            places = _places(events)
            return Read(list(map(Row._make, zip(ids, found, *places, strict=True))))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass  # Some delete, or are no rows: which ones is found below.
    read = Read([])
    for event in _events(events):
        try:
            read.rows.append(row_of(_decoded(event), key))
        except RowError as error:
            read.refused.append((event, error))
    return read


def structs(events: pa.Table, key: str) -> Read:
    """If the source has refused some, they alone. Raises RowError for the first without an id."""
    if ERROR in events.column_names and events[ERROR].null_count < len(events):
        return Read([], _refused(events.filter(pc.is_valid(events[ERROR]))))
    value = events["value"].combine_chunks()
    if key not in [each.name for each in value.type]:
        raise RowError(f"the values have no field {key!r}, which is the key of the table")
    values = pa.table(list(value.flatten()), names=[each.name for each in value.type])
    deleted = pc.is_null(value)
    named = _named(values[key], events["key"], deleted)
    if named.null_count:
        raise _nameless(events.filter(pc.is_null(named)).slice(0, 1), key)
    kept = newest(named, *_numbers(events))
    rows = _rows(values.take(kept), named.take(kept), deleted.take(kept), events.take(kept))
    return Read(rows)


def fields(frame: pa.Table, key: str) -> Read:
    """A boolean column `kafka_deleted`, if there is one, says which delete."""
    missing = [name for name in (key, *PLACE) if name not in frame.column_names]
    if missing:
        raise RowError(f"the frame has no column {', '.join(missing)}: keep it in the frame")
    named, partition, offset = frame[key].combine_chunks(), frame["partition"], frame["offset"]
    if named.null_count:
        index = pc.is_null(named).index(True).as_py()
        where = f"partition {partition[index]}, offset {offset[index]}"
        raise RowError(f"{where}: {key!r} is null, which is the key of the table")
    flags = DELETED in frame.column_names
    deleted = pc.fill_null(frame[DELETED], False) if flags else pa.repeat(False, len(frame))
    values = frame.drop_columns([*PLACE, *([DELETED] if flags else [])])
    kept = newest(named, *_numbers(frame))
    rows = _rows(values.take(kept), named.take(kept), deleted.take(kept), frame.take(kept))
    return Read(rows)


def newest(ids: pa.Array, *version: Any) -> pa.Array:
    """The places of the newest of each id, in their order."""
    codes = ids.dictionary_encode().indices.to_numpy()
    order = np.lexsort(version[::-1])
    last = np.empty(int(codes.max()) + 1 if len(codes) else 0, np.int64)
    # Of several that are assigned to one place, the last stays.
    last[codes[order]] = order
    return pa.array(np.sort(last))


def column_types(values: pa.Schema | pa.StructType) -> dict[str, ColumnType]:
    """The columns that values of these types are written to; none for a type without values."""
    found = {each.name: _column_type(each.type) for each in values}
    return {name: kind for name, kind in found.items() if kind is not None}


def where(event: Event) -> str:
    return f"{event.topic}/{event.partition} @{event.offset}"


def _rows(values: pa.Table, ids: pa.Array, deleted: pa.Array, events: pa.Table) -> list[Row]:
    columns = [_plain(values[name]) for name in values.column_names]
    dicts = [dict(zip(values.column_names, row, strict=True)) for row in zip(*columns, strict=True)]
    if not columns:
        dicts = [{} for _ in range(len(ids))]
    gone = deleted.to_pylist()
    found = [None if is_gone else each for is_gone, each in zip(gone, dicts, strict=True)]
    return list(map(Row._make, zip(_plain(ids), found, *_places(events), strict=True)))


def _refused(events: pa.Table) -> list[tuple[Event, RowError]]:
    found = zip(_events(events.drop_columns(["value"])), events[ERROR].to_pylist(), strict=True)
    return [
        (event, RowError(f"{where(event)}: the value cannot be read: {reason}"))
        for event, reason in found
    ]


def _decoded(event: Event) -> Event:
    if event.value is None:
        return event
    try:
        value = orjson.loads(event.value)
    except orjson.JSONDecodeError as error:
        raise RowError(f"{where(event)}: the value is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise RowError(f"{where(event)}: the value is JSON, but not an object")
    return Event(event.topic, event.partition, event.offset, event.timestamp, event.key, value)


def _numbers(events: pa.Table) -> list[Any]:
    """Of the version, as arrays of numpy; the time in milliseconds."""
    times_us = events["timestamp"].cast(pa.timestamp("us", events["timestamp"].type.tz))
    times_ms = times_us.cast(pa.int64()).to_numpy() // 1000
    return [times_ms, events["partition"].to_numpy(), events["offset"].to_numpy()]


def _places(events: pa.Table) -> list[list[int]]:
    return [each.tolist() for each in _numbers(events)]


def _named(ids: pa.ChunkedArray, keys: pa.ChunkedArray, deleted: pa.Array) -> pa.Array:
    """The id of each event: its field, or the key of one that deletes; null if there is none."""
    ids = ids.combine_chunks()
    if not pc.any(deleted).as_py():
        return ids
    kind = ids.type
    spelled = [_id_of(each, kind) for each in keys.to_pylist()]
    return pc.if_else(deleted, pa.array(spelled, kind), ids)


def _id_of(key: bytes | None, kind: pa.DataType) -> Any:
    if key is None:
        return None
    try:
        return int(key) if pa.types.is_integer(kind) else key.decode()
    except ValueError:
        return None


def _nameless(event: pa.Table, key: str) -> RowError:
    place = where(_event(event))
    if event["value"].null_count:
        return RowError(f"{place}: deletes the row that its key names, and its key names none")
    return RowError(f"{place}: the field {key!r} is null, which is the key of the table")


def _event(events: pa.Table) -> Event:
    return _events(events.select(["topic", *PLACE]))[0]


def _events(events: pa.Table) -> list[Event]:
    nothing = [None] * len(events)
    key, value, headers = (
        events[name].to_pylist() if name in events.column_names else nothing
        for name in ("key", "value", "headers")
    )
    times, partitions, offsets = _places(events)
    topics = events["topic"].to_pylist()
    found = []
    for row in zip(topics, partitions, offsets, times, key, value, headers, strict=True):
        topic, partition, offset, time_ms, its_key, its_value, carried = row
        pairs = [(each["key"], each["value"]) for each in carried or ()]
        found.append(Event(topic, partition, offset, time_ms, its_key, its_value, pairs))
    return found


def _column_type(kind: pa.DataType) -> ColumnType | None:
    if pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind):
        return "bigint"
    if pa.types.is_floating(kind):
        return "double"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return "json" if pa.types.is_nested(kind) else "text"


def _plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    kind = column.type
    values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    if pa.types.is_nested(kind):
        # Not every type inside has a form in JSON of its own.
        return [
            None if value is None else orjson.loads(orjson.dumps(value, default=_text))
            for value in values
        ]
    if _column_type(kind) == "text" and not pa.types.is_string(kind):
        return [None if value is None else _text(value) for value in values]
    return values


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
