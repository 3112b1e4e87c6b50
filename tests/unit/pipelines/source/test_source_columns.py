"""What was fetched, as Spark takes it: the declared schema to the letter, and the same records."""

import datetime as dt

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from kafkaesque.client.fetched import Fetched, whole_batches
from kafkaesque.pipelines.source.columns import arrow_schema, declared, rows
from kafkaesque.pipelines.source.security import OptionsError
from kafkaesque.records.batch import Codec, Record, new_batch, stamp_append_time
from kafkaesque.types import TopicPartition

PLAIN = (
    StructType()
    .add("key", BinaryType())
    .add("value", BinaryType())
    .add("topic", StringType(), nullable=False)
    .add("partition", IntegerType(), nullable=False)
    .add("offset", LongType(), nullable=False)
    .add("timestamp", TimestampType(), nullable=False)
    .add("timestampType", IntegerType(), nullable=False)
)
HEADER = StructType().add("key", StringType()).add("value", BinaryType())


def test_the_schema_is_the_one_that_spark_makes_of_the_declared_one() -> None:
    assert to_arrow_schema(PLAIN, timezone="UTC").equals(arrow_schema(False))
    with_headers = StructType([*PLAIN.fields]).add("headers", ArrayType(HEADER))
    assert to_arrow_schema(with_headers, timezone="UTC").equals(arrow_schema(True))


def fetched(data: bytes, offset: int = 0) -> Fetched:
    place = TopicPartition("ticks", 3)
    return Fetched(place, offset, 0, data, -1, -1, (), batches=whole_batches(data))


def records(base: int, count: int, headers: bool = False) -> list[Record]:
    pair = (("h", b"1"), ("n", None)) if headers else ()
    return [
        Record(base + each, 1_700_000_000_000 + each, b"k%d" % each, None if each else b"", pair)
        for each in range(count)
    ]


def test_rows_are_cut_at_both_ends_of_the_range() -> None:
    data = bytes(new_batch(records(0, 10)) + new_batch(records(10, 10), base_offset=10))
    found = rows(fetched(data, 4), 13, False)
    assert found.schema.equals(arrow_schema(False))
    assert found["offset"].to_pylist() == list(range(4, 13))
    assert found["key"].to_pylist() == [b"k%d" % (each % 10) for each in range(4, 13)]
    assert set(found["topic"].to_pylist()) == {"ticks"}
    assert set(found["partition"].to_pylist()) == {3}
    assert found["timestamp"].to_pylist()[0] == dt.datetime(
        2023, 11, 14, 22, 13, 20, 4000, tzinfo=dt.UTC
    )


def test_each_record_says_whose_time_it_has() -> None:
    later = new_batch(records(3, 2), base_offset=3, codec=Codec.LZ4)
    stamp_append_time(later, 0, 5)
    found = rows(fetched(bytes(new_batch(records(0, 3)) + later)), 9, False)
    assert found["timestampType"].to_pylist() == [0, 0, 0, 1, 1]
    assert found["timestamp"].cast(pa.int64()).to_pylist()[3:] == [5000, 5000]


def test_headers_are_null_where_there_are_none() -> None:
    data = bytes(new_batch(records(0, 2)) + new_batch(records(2, 2, True), base_offset=2))
    found = rows(fetched(data, 1), 9, True)
    assert found.schema.equals(arrow_schema(True))
    found.validate(full=True)
    pair = [{"key": "h", "value": b"1"}, {"key": "n", "value": None}]
    assert found["headers"].to_pylist() == [None, pair, pair]


def test_a_time_that_has_no_microseconds_is_the_last_that_has() -> None:
    odd = Record(0, 2**62, None, None, ())
    found = rows(fetched(bytes(new_batch([odd]))), 9, False)
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [(2**63 - 1) // 1000 * 1000]


def test_columns_that_are_wanted_are_declared_in_the_order_in_which_they_are() -> None:
    assert declared(False, wanted=("offset", "value")) == "offset LONG NOT NULL, value BINARY"
    typed = declared(True, "STRUCT<n: INT>", True, ("_error", "headers", "value"))
    assert typed.startswith("_error STRING, headers ARRAY<")
    assert typed.endswith("value STRUCT<n: INT>")


def test_a_column_that_is_not_there_cannot_be_wanted() -> None:
    with pytest.raises(OptionsError, match=r"columns names headers, .* choose from key"):
        declared(False, wanted=("headers",))
