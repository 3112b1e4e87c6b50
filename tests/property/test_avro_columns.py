"""Avro values as columns against fastavro's reader and the `avro` package's writer; and bytes that
nobody wrote: no crash, no row that is not there, no harm to the rows beside it."""

import io
from typing import Any

import avro.io
import avro.schema
import fastavro
import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.avro_schemas import data_of, records, schemas

from kafkaesque.client.columns import Decoded, avro_decoder


def payload(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


def parsed(schema: Any) -> Any:
    return fastavro.parse_schema(schema, named_schemas={})


def read(schema: Any, data: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(data), schema, None)


def shown(array: pa.Array) -> list[Any]:
    rows: list[Any] = array.to_pylist(maps_as_pydicts="lossy")
    return rows


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, list[bytes | None]]:
    schema = draw(schemas())
    whole = parsed(schema)
    data = draw(st.lists(st.none() | st.tuples(data_of(schema)), max_size=6))
    return schema, [None if each is None else payload(whole, each[0]) for each in data]


def same(left: Any, right: Any) -> bool:
    """As ==, but NaN is itself."""
    return repr(left) == repr(right) or bool(left == right)


@given(cases(), st.sampled_from((1, 7)))
def test_columns_show_what_fastavro_reads(case: tuple[Any, list[bytes | None]], times: int) -> None:
    schema, values = case
    values = values * times
    decoder = avro_decoder(schema)
    found = decoder.decode(pa.array(values, pa.binary()))
    found.validate(full=True)
    assert found.type == decoder.type
    whole = parsed(schema)
    wanted = [None if each is None else read(whole, each) for each in values]
    assert same(_plain(shown(found)), _plain(wanted))


def _plain(value: Any) -> Any:
    """Moments by their value: fastavro and Arrow name UTC differently."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value


@given(st.data())
def test_a_row_is_the_same_alone_and_among_many(data: st.DataObject) -> None:
    """Few rows are walked, many go in rounds: items, blocks and branches must not notice."""
    item = data.draw(schemas(depth=2))
    schema = {"type": "array", "items": item}
    values = data.draw(st.lists(st.lists(data_of(item), max_size=6), min_size=1, max_size=4))
    payloads = [payload(parsed(schema), each) for each in values]
    decoder = avro_decoder(schema)
    alone = [shown(decoder.decode(pa.array([each], pa.binary())))[0] for each in payloads]
    many = decoder.decode(pa.array(payloads * 20, pa.binary()))
    many.validate(full=True)
    assert same(shown(many), alone * 20)


@given(st.data())
def test_what_the_avro_package_writes_is_read_the_same(data: st.DataObject) -> None:
    schema = data.draw(records(depth=2).filter(lambda each: "logicalType" not in str(each)))
    whole = parsed(schema)
    value = read(whole, payload(whole, data.draw(data_of(schema))))
    out = io.BytesIO()
    writer = avro.io.DatumWriter(avro.schema.parse(orjson.dumps(schema).decode()))
    try:
        writer.write(value, avro.io.BinaryEncoder(out))
    except (avro.errors.AvroTypeException, OverflowError):
        return  # a float beyond what it writes, or a branch that it cannot tell
    found = avro_decoder(schema).decode(pa.array([out.getvalue()], pa.binary()))
    assert same(_plain(shown(found)), [_plain(read(whole, out.getvalue()))])


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Any, bytes, bytes]:
    """A schema, a good payload of it, and one that has been damaged."""
    schema = draw(schemas())
    good = payload(parsed(schema), draw(data_of(schema)))
    kind = draw(st.sampled_from(("cut", "flip", "noise", "insert")))
    at = draw(st.integers(0, max(0, len(good) - 1)))
    noise = draw(st.binary(min_size=1, max_size=12))
    match kind:
        case "cut":
            return schema, good, good[:at]
        case "flip":
            return schema, good, good[:at] + noise + good[at + len(noise) :]
        case "insert":
            return schema, good, good[:at] + noise + good[at:]
    return schema, good, noise


@given(damaged(), st.sampled_from((1, 20)))
def test_damaged_values_are_refused_or_read_as_fastavro_reads_them(
    case: tuple[Any, bytes, bytes], times: int
) -> None:
    schema, good, bad = case
    decoder = avro_decoder(schema)
    decoded = decoder.read(pa.array([good, bad, None, good] * times, pa.binary()))
    decoded.array.validate(full=True)
    kept = decoder.decode(pa.array([good], pa.binary()))
    assert not decoded.refused[0]
    assert not decoded.refused[3]
    assert decoded.array[0].equals(kept[0]) or same(str(decoded.array[0]), str(kept[0]))
    assert decoded.refused.tolist() == [False, bool(decoded.refused[1]), False, False] * times
    _check_damaged(schema, bad, decoded)


def _check_damaged(schema: Any, bad: bytes, decoded: Decoded) -> None:
    if decoded.refused[1]:
        assert decoded.reason(1)
        assert not decoded.array[1].is_valid
        return
    try:
        wanted = read(parsed(schema), bad)
    except (ValueError, OverflowError):
        return  # a date or a time that Arrow holds and Python does not
    found = decoded.array.slice(1, 1)
    assert same(_plain(shown(found)), [_plain(wanted)])


@given(st.data())
def test_types_that_hold_themselves_are_json_from_there_on(data: st.DataObject) -> None:
    schema = data.draw(records(recursive=True))
    whole = parsed(schema)
    values = [payload(whole, data.draw(data_of(schema))) for _ in range(3)]
    decoder = avro_decoder(schema)
    found = decoder.decode(pa.array(values, pa.binary()))
    found.validate(full=True)
    if not decoder.fallback:
        assert same(_plain(shown(found)), _plain([read(whole, each) for each in values]))
    damaged_too = decoder.read(pa.array([values[0][:-1], values[0]], pa.binary()))
    assert not damaged_too.refused[1]


@pytest.mark.parametrize("rows", [3, 40])
@given(noise=st.binary(max_size=40))
def test_noise_does_no_harm(rows: int, noise: bytes) -> None:
    everything = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": {"type": "array", "items": ["null", "string", "long"]}},
            {"name": "n", "type": {"type": "array", "items": "null"}},
            {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "int"}}},
            {"name": "f", "type": {"type": "fixed", "name": "F", "size": 40}},
        ],
    }
    decoded = avro_decoder(everything).read(pa.array([noise] * rows, pa.binary()))
    decoded.array.validate(full=True)
    assert len(set(decoded.refused.tolist())) == 1
