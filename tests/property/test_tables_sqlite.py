"""Whatever order, batches, repeats and writers: a table of SQLite ends as a dict would."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.table_contents import in_sqlite, model
from tests.table_histories import JSON_FIELDS, deliveries, histories

from kafkaesque.pipelines.tables import Row, Table
from kafkaesque.pipelines.tables.rows import latest

WORDS = st.sampled_from(["a", "b", "7", "ä"])
NUMBERS = st.sampled_from([0, 7, -3])


def spelled(row: Row) -> Row:
    """As the key of an event that deletes spells a number."""
    return row._replace(id=str(row.id)) if row.fields is None else row


@given(st.data())
def test_any_order_ends_in_the_same_table(data: st.DataObject) -> None:
    is_number = data.draw(st.booleans())
    rows = data.draw(histories(NUMBERS if is_number else WORDS))
    columns: Any = {"id": "bigint" if is_number else "text"}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "t.db"
        url = f"sqlite:///{path}"
        with (
            Table.open(url, table="t", columns=columns) as first,
            Table.open(url, table="t", columns=columns) as second,
        ):
            for each in data.draw(deliveries(rows)):
                given = [spelled(row) for row in each.rows] if is_number else each.rows
                (first, second)[each.writer].compare_and_set(given)
        assert not rows or in_sqlite(path, "t", json_fields=JSON_FIELDS) == model(rows)


@given(histories(WORDS).flatmap(st.permutations))
def test_the_newest_of_each_id_are_those_of_a_dict(rows: list[Row]) -> None:
    found = {row.id: row[2:] for row in latest(rows)}
    assert found == {key: place for key, (place, _) in model(rows).items()}
