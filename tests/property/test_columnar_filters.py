"""Filters over columns against `Predicate.matches`, record by record: JSON values, and Avro values
as the JSON that shows them."""

import io
import math
from typing import Any

import fastavro
import orjson
import pyarrow as pa
from hypothesis import event, given
from hypothesis import strategies as st
from tests.property.test_filters import FILTERS

from kafkaesque.client.columns import Decoded, avro_decoder, columns_of, json_decoder
from kafkaesque.client.fetched import Fetched
from kafkaesque.client.filters import Subject, parse
from kafkaesque.client.filters.columnar import Columns, mask
from kafkaesque.records.batch import Record, batches, new_batch
from kafkaesque.types import TopicPartition

WHOLE = st.sampled_from([0, 1, -1, 2, 2**53 + 1, -(2**63), 2**63 - 1]) | st.integers(-5, 5)
REAL = st.sampled_from([0.5, 2.5, 1e9, 1e-300, 0.1, 2.0]) | st.floats(-5, 5)
LARGE = st.sampled_from([1e300, float(2**53), 2**64 - 1])
TEXT = st.sampled_from(["", "a", "b", "ab", "ABC", "1", 'q"\\', "\n"])
WIDE = TEXT | st.sampled_from(["☃", "𝄞", "É"])
NUMBER_LISTS = st.lists(WHOLE, max_size=3)
SORTS = (WHOLE, REAL, WHOLE | REAL, LARGE | REAL, TEXT, WIDE, st.booleans(), NUMBER_LISTS)
KEYS = st.none() | WIDE.map(str.encode)
HEADERS = st.lists(st.tuples(st.sampled_from(["h", "i"]), KEYS), max_size=3).map(tuple)


def objects(draw: st.DrawFn) -> st.SearchStrategy[dict[str, Any]]:
    """Each name has one sort of value in all records, as in columns; any may be missing."""

    def sort(*likely: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        chosen: st.SearchStrategy[Any] = draw(st.sampled_from((*likely, *likely, *SORTS)))
        return chosen | st.none()

    deep = st.fixed_dictionaries({}, optional={"n": sort(WHOLE, REAL)})
    return st.fixed_dictionaries(
        {},
        optional={
            "n": sort(WHOLE, REAL),
            "m": sort(WHOLE, REAL),
            "t": sort(TEXT, WIDE),
            "u v": sort(TEXT),
            "f": sort(st.booleans()),
            "g": sort(st.booleans()),
            "deep": draw(st.sampled_from((deep, deep, WHOLE))),
            "list": sort(NUMBER_LISTS),
        },
    )


@st.composite
def values(draw: st.DrawFn) -> list[bytes | None]:
    rows = objects(draw).map(orjson.dumps)
    odd = st.none() | st.sampled_from([b"", b"plain", b"[1]", b"3", b"null"])
    return draw(st.lists(rows | rows | rows | odd, min_size=1, max_size=8))


def columns(records: list[Record]) -> pa.RecordBatch:
    data = bytes(new_batch(records))
    place = TopicPartition("t", 0)
    return columns_of(Fetched(place, 0, 0, data, 0, 0, batches=list(batches(data))))


@given(FILTERS, st.data())
def test_a_mask_is_what_each_record_says(text: str, data: st.DataObject) -> None:
    records = [
        Record(offset, 0, data.draw(KEYS), value, data.draw(HEADERS))
        for offset, value in enumerate(data.draw(values()))
    ]
    predicate = parse(text)
    table = columns(records)
    document = json_decoder().read(table.column("value"))
    found = mask(predicate, Columns("t", 0, table, document))
    event("columnar" if found is not None else "record by record")
    if found is not None:
        assert found.tolist() == [predicate.matches(Subject("t", 0, each)) for each in records]


STOCK = {
    "type": "record",
    "name": "Tick",
    "fields": [
        {"name": "n", "type": ["null", "double"]},
        {"name": "m", "type": "long"},
        {"name": "t", "type": {"type": "enum", "name": "E", "symbols": ["a", "ab", "ABC"]}},
        {"name": "f", "type": "boolean"},
        {"name": "list", "type": {"type": "array", "items": "float"}},
    ],
}
TICKS = st.fixed_dictionaries(
    {
        "n": st.none() | REAL | st.sampled_from([math.nan, math.inf]),
        "m": WHOLE,
        "t": st.sampled_from(["a", "ab", "ABC"]),
        "f": st.booleans(),
        "list": st.lists(st.floats(-5, 5, width=32), max_size=3),
    }
)


@given(FILTERS, st.lists(TICKS, min_size=1, max_size=6))
def test_avro_is_seen_as_its_json(text: str, ticks: list[dict[str, Any]]) -> None:
    schema = fastavro.parse_schema(STOCK, named_schemas={})
    payloads = []
    for tick in ticks:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, tick)
        payloads.append(out.getvalue())
    # orjson shows NaN and infinity as null.
    records = [Record(n, 0, None, orjson.dumps(tick)) for n, tick in enumerate(ticks)]
    predicate = parse(text)
    document = avro_decoder(STOCK).read(pa.array(payloads, pa.binary()))
    found = mask(predicate, Columns("t", 0, columns(records), document))
    if found is not None:
        assert found.tolist() == [predicate.matches(Subject("t", 0, each)) for each in records]


def only(text: str, kind: pa.DataType, values: list[Any]) -> list[bool] | None:
    rows = pa.StructArray.from_arrays([pa.array(values, kind)], ["x"])
    decoded = Decoded(rows, json_decoder().read(pa.array([], pa.binary())).faults)
    records = columns([Record(n, 0, None, b"") for n in range(len(values))])
    found = mask(parse(text), Columns("t", 0, records, decoded))
    return None if found is None else found.tolist()


def test_what_the_filter_would_see_as_other_text_is_not_judged() -> None:
    assert only('value.x == "a"', pa.timestamp("us"), [1, None]) is None
    assert only('value.x == "a"', pa.binary(), [b"a", None]) is None
    assert only("exists(value.x)", pa.timestamp("us"), [1, None]) == [True, False]


def test_whole_numbers_are_not_rounded() -> None:
    near = [2**53, 2**53 + 1]
    assert only(f"value.x > {2**53}", pa.int64(), near) == [False, True]
    assert only(f"value.x == {2**53}", pa.int64(), near) == [True, False]
    assert only("value.x < 1.5", pa.int64(), [1, 2]) == [True, False]
    assert only("value.x < 1e300", pa.int64(), [1, 2]) == [True, True]
    assert only(f"value.x == {2**53}", pa.float64(), [float(2**53)]) is None


def test_a_member_that_was_left_out_is_not_taken_for_missing() -> None:
    records = [Record(0, 0, None, b'{"x":1,"y":2}')]
    table = columns(records)
    document = json_decoder(pa.schema([("x", pa.int64())])).read(table.column("value"))
    seen = Columns("t", 0, table, document)
    assert mask(parse("value.y == 2"), seen) is None
    found = mask(parse("value.x == 1"), seen)
    assert found is not None
    assert found.tolist() == [True]
