"""Events out of Arrow: the newest of each id, as the rows of a dict."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.table_contents import model
from tests.table_histories import histories

from kafkaesque.pipelines.tables import Row
from kafkaesque.pipelines.tables.events import fields, structs

WORDS = st.sampled_from(["a", "b", "ä"])
TIMES = pa.timestamp("us", "UTC")
STRUCT = pa.struct(
    [
        ("id", pa.string()),
        ("number", pa.int64()),
        ("price", pa.float64()),
        ('na"me %s', pa.string()),
        ("open", pa.bool_()),
        ("tags", pa.null()),
    ]
)


def without_tags(row: Row) -> Row:
    if row.fields is None:
        return row
    return row._replace(fields={**row.fields, "id": row.id, "tags": None})


def events(rows: list[Row]) -> pa.Table:
    times = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=row[2]) for row in rows]
    columns: dict[str, Any] = {
        "key": pa.array([row.id.encode() for row in rows], pa.binary()),
        "value": pa.array([row.fields for row in rows], STRUCT),
        "topic": pa.array(["t"] * len(rows), pa.string()),
        "partition": pa.array([row[3] for row in rows], pa.int32()),
        "offset": pa.array([row[4] for row in rows], pa.int64()),
        "timestamp": pa.array(times, TIMES),
    }
    return pa.table(columns)


@given(histories(WORDS).flatmap(st.permutations))
def test_structs_of_arrow_become_the_rows_of_a_dict(rows: list[Row]) -> None:
    rows = list(map(without_tags, rows))
    found = structs(events(rows), "id").rows
    assert len({row.id for row in found}) == len(found)
    assert model(found) == model(rows)


@given(histories(WORDS).flatmap(st.permutations))
def test_columns_of_arrow_become_the_rows_of_a_dict(rows: list[Row]) -> None:
    rows = list(map(without_tags, rows))
    table = events(rows)
    flat = pa.table(
        [*table["value"].combine_chunks().flatten()], names=[each.name for each in STRUCT]
    )
    ids = pa.array([row.id for row in rows], pa.string())
    flat = flat.set_column(0, "id", ids)
    for name in ("partition", "offset", "timestamp"):
        flat = flat.append_column(name, table[name])
    flat = flat.append_column(
        "kafka_deleted", pa.array([row.fields is None for row in rows], pa.bool_())
    )
    assert model(fields(flat, "id").rows) == model(rows)
