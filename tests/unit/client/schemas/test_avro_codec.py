"""Avro payloads: what fits comes back, what does not is refused with its field named."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import fastavro
import pytest

from kafkaesque.client.registry import Reference, Schema
from kafkaesque.client.schemas.codec import codec

NOW = datetime(2026, 11, 15, 12, 30, 1, 250_000, tzinfo=UTC)
ADDRESS = Schema(
    '{"type": "record", "name": "Address", "namespace": "org",'
    ' "fields": [{"name": "city", "type": "string"}]}'
)


def no_references(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    raise AssertionError(reference)


def addresses(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    assert reference == Reference("org.Address", "address", 1)
    return ADDRESS


def of(schema: Any, reader: Any = None) -> Any:
    return codec(
        Schema(json.dumps(schema)),
        no_references,
        None if reader is None else Schema(json.dumps(reader)),
    )


def record(name: str, **fields: Any) -> dict[str, Any]:
    parts = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": parts}


def logical(kind: Any, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("string", "ü"),
        ("bytes", b"\xff"),
        ("boolean", True),
        ("int", -(2**31)),
        ("long", 2**63 - 1),
        ("double", 0.1),
        (["null", "string"], None),
        ({"type": "array", "items": "long"}, [1, 2]),
        ({"type": "map", "values": "boolean"}, {"a": False}),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab"),
        (record("R", a="long", b=["null", "R"]), {"a": 1, "b": {"a": 2, "b": None}}),
        (logical("long", "timestamp-micros"), NOW),
        (logical("long", "timestamp-millis"), NOW),
        (logical("long", "local-timestamp-micros"), NOW.replace(tzinfo=None)),
        (logical("int", "date"), date(2026, 11, 15)),
        (logical("long", "time-micros"), time(1, 2, 3, 4)),
        (logical("string", "uuid"), UUID(int=7)),
        (logical("bytes", "decimal", precision=6, scale=2), Decimal("-12.50")),
    ],
)
def test_what_fits_comes_back(schema: Any, value: Any) -> None:
    made = of(schema)
    assert made.decode(made.encode(value)) == value


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("long", 1.5, "field Tick.x takes long, not float"),
        ("long", "1", "field Tick.x takes long, not str"),
        ("long", 2**63, "field Tick.x takes long, not int of this size"),
        ("int", 2**31, "field Tick.x takes int, not int of this size"),
        ("boolean", 1, "field Tick.x takes boolean, not int"),
        ("string", 1, "field Tick.x takes string, not int"),
        ("double", "secret", "field Tick.x takes double, not str"),
        ("double", None, "field Tick.x takes double, not nothing"),
        (["null", "long"], "secret", "field Tick.x takes null or long, not str"),
        (logical("long", "timestamp-micros"), 1.5, "field Tick.x takes timestamp-micros, not"),
        ({"type": "array", "items": "long"}, [1, 1.5], "takes long, not float"),
        ({"type": "map", "values": "boolean"}, {"a": 3}, "takes boolean, not int"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "secret", "takes one of A, not str"),
        (record("In", y="int"), {"y": 2**40}, "field Tick.x.In.y takes int, not int of this"),
        (record("In", y="int"), {"y": 1, "z": 2}, "more fields than the schema specifies: z"),
        (record("In", y="int"), 3, "field Tick.x takes In, not int"),
    ],
)
def test_what_does_not_fit_names_the_field_and_not_the_value(
    kind: Any, value: Any, words: str
) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        of(record("Tick", x=kind)).encode({"x": value})
    assert words in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_field_within_a_record_of_its_own_kind_is_checked_too() -> None:
    made = of(
        record("Node", n="long", next=["null", "Node"], more={"type": "array", "items": "Node"})
    )
    inner: dict[str, Any] = {"n": 1, "next": None, "more": []}
    assert made.decode(made.encode({**inner, "more": [inner]})) == {**inner, "more": [inner]}
    with pytest.raises(TypeError, match=r"Node\.n takes long, not float"):
        made.encode({**inner, "more": [{**inner, "n": 0.5}]})


def test_a_missing_field_needs_a_default() -> None:
    schema = record("R", a="long")
    schema["fields"].append({"name": "b", "type": "long", "default": 7})
    made = of(schema)
    assert made.decode(made.encode({"a": 1})) == {"a": 1, "b": 7}
    with pytest.raises(TypeError, match=r"R\.a takes long, not nothing"):
        made.encode({"b": 1})


def test_written_values_are_resolved_to_the_readers_schema() -> None:
    written, read = record("R", a="int", gone="string"), record("R", a="double")
    read["fields"].append({"name": "new", "type": "string", "default": "?"})
    payload = of(written).encode({"a": 3, "gone": "x"})
    assert of(written, read).decode(payload) == {"a": 3.0, "new": "?"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{"type": "record", "name": "P", "fields": [{"name": "a", "type": "org.Address"}]}',
            {"a": {"city": "Basel"}},
        ),
        ('"org.Address"', {"city": "Basel"}),
        ('["null", "org.Address"]', {"city": "Basel"}),
    ],
)
def test_references_are_types_by_name(text: str, value: Any) -> None:
    schema = Schema(text, "AVRO", (Reference("org.Address", "address", 1),))
    made = codec(schema, addresses)
    assert made.decode(made.encode(value)) == value


def test_two_schemas_may_give_one_name_to_different_types() -> None:
    one, other = of(record("Same", a="long")), of(record("Same", b="string"))
    assert one.decode(one.encode({"a": 1})) == {"a": 1}
    assert other.decode(other.encode({"b": "x"})) == {"b": "x"}


@pytest.mark.parametrize(
    "text", ["{", "[[", '{"type": "record"}', '"org.Address"', '{"type": "array"}', "3", "[" * 200]
)
def test_what_is_no_schema(text: str) -> None:
    with pytest.raises(ValueError, match="no Avro schema"):
        codec(Schema(text), no_references)


NODE = record("Node", next=["null", "Node"])


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    made = of(NODE)
    assert made.decode(b"\2" * 100 + b"\0")
    for depth in (600, 100_000):
        with pytest.raises(ValueError, match="nested too deep"):
            made.to_json(b"\2" * depth + b"\0")


def test_a_long_value_of_a_type_that_may_contain_itself() -> None:
    made = of(record("Node", text="string", next=["null", "Node"]))
    value = {"text": "x" * 10_000, "next": {"text": "y", "next": None}}
    assert made.decode(made.encode(value)) == value
    with pytest.raises(ValueError, match="1 bytes are left over"):
        made.decode(made.encode(value) + b"x")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": "null"},
        {"type": "array", "items": record("Empty")},
        {"type": "map", "values": {"type": "array", "items": record("R", a="null")}},
        record("Node", next="Node"),
        record("A", b=record("B", a="A")),
        record("A", maybe=["null", record("B", a="A")], b="B"),
    ],
)
def test_what_could_be_read_without_end_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"take no bytes|always contains itself"):
        of(schema)


def test_bytes_after_the_value_say_that_it_was_written_with_another_schema() -> None:
    with pytest.raises(ValueError, match="3 bytes are left over"):
        of("long").decode(b"\2abc")


def test_json_of_a_payload_has_only_what_json_has() -> None:
    schema = record(
        "R",
        raw="bytes",
        at=logical("long", "timestamp-micros"),
        day=logical("int", "date"),
        price=logical("bytes", "decimal", precision=6, scale=2),
        ratio="double",
        id=logical("string", "uuid"),
        maybe=["null", "long"],
        more={"type": "map", "values": {"type": "array", "items": "bytes"}},
    )
    value = {
        "raw": b"\xff",
        "at": NOW,
        "day": date(2026, 1, 2),
        "price": Decimal("1.50"),
        "ratio": float("nan"),
        "id": UUID(int=1),
        "maybe": 3,
        "more": {"a": [b"x"]},
    }
    assert of(schema).to_json(of(schema).encode(value)) == {
        "raw": "/w==",
        "at": "2026-11-15T12:30:01.250000Z",
        "day": "2026-01-02",
        "price": "1.50",
        "ratio": None,
        "id": "00000000-0000-0000-0000-000000000001",
        "maybe": 3,
        "more": {"a": ["eA=="]},
    }


def test_fastavro_alone_would_have_written_another_number() -> None:
    """Why values are checked here: if this fails, fastavro has learned to."""
    out = BytesIO()
    fastavro.schemaless_writer(out, "long", 1.5)
    assert out.getvalue() == b"\2"
