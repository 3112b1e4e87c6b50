"""The columns that the sink writes, and the records that they become."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kafkaesque.pipelines.sink.layout import Layout
from kafkaesque.pipelines.sink.options import SinkOptions, stream_options
from kafkaesque.pipelines.source.security import OptionsError

HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
TYPES: dict[str, DataType] = {
    "BINARY": BinaryType(),
    "DOUBLE": DoubleType(),
    "HEADERS": ArrayType(HEADER),
    "INT": IntegerType(),
    "LONG": LongType(),
    "STRING": StringType(),
}
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def options(**given: str) -> SinkOptions:
    return stream_options({"kafka.bootstrap.servers": "a:1", "writerId": "w", **given})


def layout(columns: str, **given: str) -> Layout:
    """Of columns as in "value STRING, partition INT"."""
    pairs = [column.split() for column in columns.split(", ")]
    fields = [StructField(name, TYPES[kind]) for name, kind in pairs]
    return Layout.of(StructType(fields), options(**given))


def test_a_row_becomes_a_record_with_all_that_it_names() -> None:
    found = layout("key STRING, value BINARY, topic STRING, partition INT, headers HEADERS")
    headers: list[Any] = [[{"key": "h", "value": b"1"}], None]
    rows = pa.table(
        {
            "key": ["k", None],
            "value": pa.array([b"v", None], pa.binary()),
            "topic": ["a", "b"],
            "partition": pa.array([3, None], pa.int32()),
            "headers": pa.array(headers, HEADERS),
        }
    )
    assert found.topics(rows) == ["a", "b"]
    assert list(found.records(rows)) == [
        ("a", b"v", "k", 3, None, None, 0, [("h", b"1")]),
        ("b", None, None, -1, None, None, 0, []),
    ]


def test_the_option_topic_wins_and_the_rest_may_be_missing() -> None:
    found = layout("value STRING, topic STRING", topic="out")
    rows = pa.table({"value": ["v"], "topic": ["ignored"]})
    assert found.topics(rows) == ["out"]
    assert list(found.records(rows)) == [("out", "v", None, -1)]


def test_mark_columns_say_where_a_row_comes_from_and_not_where_it_goes() -> None:
    marks = {"markColumn": "offset", "markBy": "topic,partition"}
    columns = "value STRING, topic STRING, partition INT, offset LONG"
    rows = pa.table({"value": ["v"], "topic": ["in"], "partition": [7], "offset": [1]})
    assert list(layout(columns, topic="out", **marks).records(rows)) == [("out", "v", None, -1)]
    with pytest.raises(OptionsError, match="no topic is named"):
        layout(columns, **marks)


def test_a_row_without_a_topic_is_refused() -> None:
    rows = pa.table({"value": ["v", "w"], "topic": ["a", None]})
    with pytest.raises(OptionsError, match="a row names no topic"):
        layout("value STRING, topic STRING").topics(rows)


@pytest.mark.parametrize(
    ("columns", "given", "words"),
    [
        ("key STRING", {}, "no column value"),
        ("value STRING", {"topic": ""}, "no topic is named"),
        ("value DOUBLE", {}, "column value is of type double: cast it to binary or string"),
        ("value STRING, price DOUBLE", {}, "column price has no place in a record"),
        ("value STRING", {"markColumn": "offset"}, "the rows have no column offset"),
        ("value STRING, at STRING", {"markColumn": "at"}, "a whole number or a time"),
    ],
)
def test_columns_that_cannot_be_written_are_refused(
    columns: str, given: dict[str, str], words: str
) -> None:
    with pytest.raises(OptionsError, match=words):
        layout(columns, **{"topic": "out", **given})
