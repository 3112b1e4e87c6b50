"""Events as Spark collects them, and the rows they become."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafkaesque.pipelines.tables import Row, RowError
from kafkaesque.pipelines.tables.events import column_types, fields, structs, texts

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)
TIMES = pa.timestamp("us", "UTC")


def events(values: pa.Array, keys: list[bytes | None] | None = None) -> pa.Table:
    count = len(values)
    return pa.table(
        {
            "key": pa.array(keys or [None] * count, pa.binary()),
            "value": values,
            "topic": pa.array(["t"] * count, pa.string()),
            "partition": pa.array([1] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([NOON] * count, TIMES),
        }
    )


def raw(*values: Any) -> pa.Array:
    found = [v if v is None or isinstance(v, bytes) else json.dumps(v) for v in values]
    return pa.array(found, pa.binary())


def test_texts_become_rows_with_the_place_of_their_events() -> None:
    read = texts(events(raw({"id": "a", "n": 1}, {"id": 7})), "id")
    assert read.rows == [
        Row("a", {"id": "a", "n": 1}, NOON_MS, 1, 0),
        Row(7, {"id": 7}, NOON_MS, 1, 1),
    ]
    assert read.refused == []


def test_an_event_without_a_value_deletes_what_its_key_names() -> None:
    read = texts(events(raw({"id": "a"}, None), [b"a", b"a"]), "id")
    assert read.rows[1] == Row("a", None, NOON_MS, 1, 1)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b"{", "the value is not JSON"),
        (b"\xff", "the value is not JSON"),
        ([{"id": 1}], "not an object"),
        ("id", "not an object"),
        ({"n": 1}, "no field 'id'"),
        ({"id": None}, "no field 'id'"),
        (None, "neither value nor key"),
    ],
)
def test_texts_that_are_no_rows_are_named_and_the_others_stay(bad: Any, said: str) -> None:
    read = texts(events(raw({"id": "a"}, bad, {"id": "b"})), "id")
    assert [row.id for row in read.rows] == ["a", "b"]
    ((event, error),) = read.refused
    assert (event.partition, event.offset) == (1, 1)
    assert event.value == raw(bad)[0].as_py()
    assert str(error).startswith("t/1 @1: ")
    assert said in str(error)


def test_a_struct_has_a_column_for_every_type() -> None:
    kinds: dict[str, tuple[pa.DataType, Any, Any, str]] = {
        "id": (pa.int32(), 7, 7, "bigint"),
        "price": (pa.float32(), 0.5, 0.5, "double"),
        "open": (pa.bool_(), True, True, "boolean"),
        "at": (TIMES, NOON, NOON, "timestamp"),
        "day": (pa.date32(), date(2026, 1, 2), "2026-01-02", "text"),
        "exact": (pa.decimal128(9, 2), Decimal("1.20"), "1.20", "text"),
        "raw": (pa.binary(), b"\xff", "/w==", "text"),
        "tags": (pa.list_(pa.date32()), [date(2026, 1, 2)], ["2026-01-02"], "json"),
        "by_name": (pa.map_(pa.string(), pa.binary()), [("a", b"x")], {"a": "eA=="}, "json"),
    }
    struct = pa.struct([(name, kind) for name, (kind, *_) in kinds.items()])
    values = pa.array([{name: given for name, (_, given, _, _) in kinds.items()}], struct)
    (row,) = structs(events(values), "id").rows
    assert row == Row(7, {name: found for name, (_, _, found, _) in kinds.items()}, NOON_MS, 1, 0)
    assert column_types(struct) == {name: found for name, (*_, found) in kinds.items()}


def test_a_delete_spells_the_number_of_its_struct() -> None:
    struct = pa.struct([("id", pa.int64()), ("n", pa.int64())])
    values = pa.array([{"id": 7, "n": 1}, None], struct)
    assert structs(events(values, [b"7", b"7"]), "id").rows == [Row(7, None, NOON_MS, 1, 1)]


@pytest.mark.parametrize(
    ("values", "key", "said"),
    [
        ([{"id": None}], b"a", "t/1 @0: the field 'id' is null"),
        ([None], None, "t/1 @0: deletes the row that its key names, and its key names none"),
        ([None], b"\xff", "its key names none"),
    ],
)
def test_a_struct_without_an_id_is_named(values: list[Any], key: bytes | None, said: str) -> None:
    struct = pa.struct([("id", pa.string())])
    with pytest.raises(RowError, match=said):
        structs(events(pa.array(values, struct), [key]), "id")


def test_what_the_source_refused_is_named() -> None:
    table = events(pa.array([{"id": "a"}, None], pa.struct([("id", pa.string())])))
    table = table.append_column("_error", pa.array([None, "no such schema"], pa.string()))
    read = structs(table, "id")
    ((event, error),) = read.refused
    assert (read.rows, event.offset) == ([], 1)
    assert str(error) == "t/1 @1: the value cannot be read: no such schema"
    with pytest.raises(RowError, match="no field 'number'"):
        structs(table.slice(0, 1), "number")


def test_a_frame_needs_the_key_and_the_place() -> None:
    table = events(pa.array(["x", None], pa.string())).rename_columns(
        ["key", "id", "topic", "partition", "offset", "timestamp"]
    )
    with pytest.raises(RowError, match="partition 1, offset 1: 'id' is null"):
        fields(table, "id")
    with pytest.raises(RowError, match="no column offset"):
        fields(table.drop_columns(["offset"]), "id")
