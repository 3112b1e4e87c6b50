"""How a table's columns and a frame's go together."""

import pyarrow as pa
import pytest
from pyspark.sql import types as sql

from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.lake.schemas import conflicts, fitted, of_frame


def test_a_frame_keeps_its_columns_as_iceberg_can_have_them() -> None:
    frame = sql.StructType(
        [
            sql.StructField("small", sql.ByteType(), False),
            sql.StructField("at", sql.TimestampType()),
            sql.StructField("tags", sql.ArrayType(sql.ShortType(), False)),
            sql.StructField("named", sql.MapType(sql.StringType(), sql.DecimalType(9, 2))),
        ]
    )
    found = of_frame(frame)
    assert found.field("small").type == pa.int32()
    assert found.field("small").nullable
    assert found.field("at").type == pa.timestamp("us", "UTC")
    assert found.field("tags").type.value_type == pa.int32()
    assert found.field("named").type.item_type == pa.decimal128(9, 2)


def test_a_column_that_no_lake_can_have_is_refused() -> None:
    frame = sql.StructType([sql.StructField("odd", sql.CalendarIntervalType())])
    with pytest.raises(LakeError, match=r"cannot be kept in a lake: .*; leave it out"):
        of_frame(frame)


@pytest.mark.parametrize(
    ("table", "frame", "problem"),
    [
        (pa.int64(), pa.int32(), None),
        (pa.int32(), pa.int64(), None),
        (pa.float32(), pa.float64(), None),
        (pa.decimal128(9, 2), pa.decimal128(12, 2), None),
        (pa.decimal128(9, 2), pa.decimal128(9, 3), "c is decimal128(9, 2) in the table"),
        (pa.int64(), pa.float64(), "c is int64 in the table, and double here"),
        (pa.string(), pa.struct([("a", pa.int32())]), "c is string in the table, and a struct"),
        (
            pa.struct([("a", pa.list_(pa.int32()))]),
            pa.struct([("b", pa.string()), ("a", pa.list_(pa.string()))]),
            "c.a[] is int32 in the table, and string here",
        ),
        (
            pa.map_(pa.string(), pa.int32()),
            pa.map_(pa.int32(), pa.int32()),
            "the keys of c are string in the table, and int32 here",
        ),
    ],
)
def test_what_goes_together(table: pa.DataType, frame: pa.DataType, problem: str | None) -> None:
    found = "; ".join(conflicts(pa.schema([("c", table)]), pa.schema([("c", frame), ("d", frame)])))
    assert (problem is None and not found) or (problem is not None and problem in found)


def test_rows_are_fitted_to_the_columns_of_the_table() -> None:
    rows = pa.table({"b": pa.array([{"x": 1}], pa.struct([("x", pa.int32())]))})
    wanted = pa.schema(
        [("a", pa.string()), ("b", pa.struct([("x", pa.int64()), ("y", pa.string())]))]
    )
    assert fitted(rows, wanted).to_pylist() == [{"a": None, "b": {"x": 1, "y": None}}]
