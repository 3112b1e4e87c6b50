"""Shelves: whose file is whose, and what is in it."""

import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkaesque.embedded.stale import Shelf, StaleEvent, open_shelf
from kafkaesque.event import Event

CSV = "stale.csv"
SQLITE = "stale.sqlite"
OLDER_ID, TOPIC_ID = UUID(int=1), UUID(int=2)
MADE_WITHOUT_IDS = (
    "CREATE TABLE stale (topic TEXT, partition INTEGER, offset INTEGER, timestamp INTEGER, key, "
    "value, PRIMARY KEY (topic, partition, offset, timestamp))"
)


def _event(offset: int, value: Any = "v", key: Any = None, topic: str = "t", at: int = 7) -> Event:
    return Event(topic, 0, offset, at, key, value)


@pytest.mark.parametrize("name", [CSV, SQLITE, "stale.sqlite3", "stale.db"])
@pytest.mark.parametrize("is_durable", [True, False])
def test_rows_come_back_in_their_order(tmp_path: Path, name: str, is_durable: bool) -> None:
    shelf = open_shelf(tmp_path / name, is_durable)
    shelf.check_topic("t")
    shelf.add(TOPIC_ID, [_event(0, "a", "k"), _event(1, 2.5, "k")])
    shelf.add(TOPIC_ID, [_event(2, None, None)])
    assert shelf.rows("t") == [
        StaleEvent(0, 0, 7, "k", "a"),
        StaleEvent(0, 1, 7, "k", 2.5),
        StaleEvent(0, 2, 7, None, None),
    ]


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_before_anything_is_stale_there_are_no_rows(tmp_path: Path, name: str) -> None:
    shelf = open_shelf(tmp_path / name, is_durable=True)
    assert shelf.rows("t") == []
    shelf.check_topic("t")
    shelf.add(TOPIC_ID, [])
    assert shelf.rows("t") == shelf.rows("other") == []


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_lists_dicts_booleans_and_large_numbers_are_their_json(tmp_path: Path, name: str) -> None:
    shelf = open_shelf(tmp_path / name, is_durable=False)
    shelf.check_topic("t")
    values = [[1, "ä"], {"a": None}, True, 2**63, 2**63 - 1, -(2**63)]
    shelf.add(TOPIC_ID, [_event(i, value) for i, value in enumerate(values)])
    rows = shelf.rows("t")
    assert [row.value for row in rows] == [
        '[1, "ä"]',
        '{"a": null}',
        "true",
        str(2**63),
        2**63 - 1,
        -(2**63),
    ]


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_half_a_surrogate_pair_of_another_client_is_kept_as_json(tmp_path: Path, name: str) -> None:
    shelf = open_shelf(tmp_path / name, is_durable=False)
    shelf.check_topic("t")
    shelf.add(TOPIC_ID, [_event(0, "\ud800"), _event(1, ["\udfff"])])
    assert [row.value for row in shelf.rows("t")] == [r'"\ud800"', r'["\udfff"]']


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_a_log_in_memory_does_not_mix_with_an_earlier_run(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    first = open_shelf(path, is_durable=False)
    first.check_topic("t")
    first.add(TOPIC_ID, [_event(0)])
    with pytest.raises(ValueError, match=r"earlier run.*move it away, or keep the log too"):
        open_shelf(path, is_durable=False).check_topic("t")
    again = open_shelf(path, is_durable=True)
    again.check_topic("t")
    assert len(again.rows("t")) == 1


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_what_a_crash_left_in_the_log_too_is_not_added_again(tmp_path: Path, name: str) -> None:
    for ends in (3, 5):
        shelf = open_shelf(tmp_path / name, is_durable=True)
        shelf.check_topic("t")
        shelf.add(TOPIC_ID, [_event(i, f"v{i}") for i in range(ends)])
    assert [row.value for row in shelf.rows("t")] == ["v0", "v1", "v2", "v3", "v4"]


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_what_an_error_left_in_the_log_too_is_not_added_again(tmp_path: Path, name: str) -> None:
    """The log could not be trimmed after the first time."""
    shelf = _opened(tmp_path / name)
    for ends in (3, 5):
        shelf.add(TOPIC_ID, [_event(i, f"v{i}") for i in range(ends)])
    assert [row.value for row in shelf.rows("t")] == ["v0", "v1", "v2", "v3", "v4"]


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_what_a_crash_left_may_come_again_in_smaller_parts(tmp_path: Path, name: str) -> None:
    """The bound may be a larger one at the next start."""
    events = [_event(i, f"v{i}") for i in range(6)]
    _opened(tmp_path / name).add(TOPIC_ID, events[:4])
    shelf = _opened(tmp_path / name)
    for part in (events[:2], events[2:3], events[3:]):
        shelf.add(TOPIC_ID, part)
    assert [row.value for row in shelf.rows("t")] == [event.value for event in events]


@pytest.mark.parametrize("name", [CSV, SQLITE])
@pytest.mark.parametrize("is_restarted", [True, False])
def test_events_of_a_topic_made_anew_are_kept_though_the_old_one_had_the_same(
    tmp_path: Path, name: str, is_restarted: bool
) -> None:
    events = [_event(0), _event(1)]
    shelf = _opened(tmp_path / name)
    shelf.add(OLDER_ID, events)
    if is_restarted:
        shelf = _opened(tmp_path / name)
    shelf.add(TOPIC_ID, events)
    assert [row.offset for row in shelf.rows("t")] == [0, 1, 0, 1]


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_what_a_crash_left_of_a_topic_made_anew_is_not_added_again(
    tmp_path: Path, name: str
) -> None:
    events = [_event(i) for i in range(4)]
    for topic_id, count in ((OLDER_ID, 3), (TOPIC_ID, 2), (TOPIC_ID, 4)):
        shelf = _opened(tmp_path / name)
        shelf.add(topic_id, events[:count])
    assert [row.offset for row in shelf.rows("t")] == [0, 1, 2, 0, 1, 2, 3]


def _opened(path: Path) -> Shelf:
    shelf = open_shelf(path, is_durable=True)
    shelf.check_topic("t")
    return shelf


def _without_ids(path: Path) -> None:
    """Two rows, in a file of the time when rows were known by offset and timestamp."""
    if path.suffix == ".csv":
        path.write_text('partition,offset,timestamp,key,value\n0,0,7,,"a"\n0,1,7,"k",2\n')
        return
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(MADE_WITHOUT_IDS)
        database.execute(
            "INSERT INTO stale VALUES ('t', 0, 0, 7, NULL, 'a'), ('t', 0, 1, 7, 'k', 2)"
        )
        database.execute("CREATE VIEW texts AS SELECT value FROM stale WHERE key IS NULL")


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_what_a_crash_left_before_there_were_ids_is_not_added_again(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    _without_ids(path)
    events = [_event(0, "a"), _event(1, 2, "k"), _event(2, "b")]
    for _ in range(2):
        shelf = _opened(path)
        for part in (events[:1], events):
            shelf.add(TOPIC_ID, part)
    assert [row.value for row in shelf.rows("t")] == ["a", 2, "b"]


@pytest.mark.parametrize("name", [CSV, SQLITE])
def test_another_topics_events_are_kept_in_a_file_without_ids(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    _without_ids(path)
    shelf = _opened(path)
    assert [row.value for row in shelf.rows("t")] == ["a", 2]
    shelf.add(TOPIC_ID, [_event(0, "b"), _event(1, 2, "k")])
    shelf.add(TOPIC_ID, [_event(2, "c")])
    assert [row.value for row in shelf.rows("t")] == ["a", 2, "b", 2, "c"]


def test_a_table_without_ids_keeps_its_columns_and_views(tmp_path: Path) -> None:
    path = tmp_path / SQLITE
    _without_ids(path)
    _opened(path).add(TOPIC_ID, [_event(0, "b")])
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT * FROM stale ORDER BY rowid")
        columns = [name for name, *_ in rows.description]
        assert columns == ["topic", "partition", "offset", "timestamp", "key", "value"]
        assert rows.fetchall() == [
            ("t", 0, 0, 7, None, "a"),
            ("t", 0, 1, 7, "k", 2),
            ("t", 0, 0, 7, None, "b"),
        ]
        assert database.execute("SELECT * FROM texts").fetchall() == [("a",), ("b",)]


def test_a_csv_begun_anew_is_not_read_by_the_note_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / CSV
    _opened(path).add(OLDER_ID, [_event(i) for i in range(9)])
    _opened(path).add(TOPIC_ID, [_event(0)])
    path.rename(tmp_path / "moved.csv")
    for ends in (3, 4):
        shelf = _opened(path)
        shelf.add(TOPIC_ID, [_event(i) for i in range(1, ends)])
    assert [row.offset for row in shelf.rows("t")] == [1, 2, 3]


def test_a_csv_moved_away_while_it_is_written_is_not_read_by_its_note(tmp_path: Path) -> None:
    path = tmp_path / CSV
    _opened(path).add(OLDER_ID, [_event(i) for i in range(9)])
    shelf = _opened(path)
    shelf.add(TOPIC_ID, [_event(0)])
    path.rename(tmp_path / "moved.csv")
    shelf.add(TOPIC_ID, [_event(1), _event(2)])
    shelf = _opened(path)
    shelf.add(TOPIC_ID, [_event(i) for i in range(1, 4)])
    assert [row.offset for row in shelf.rows("t")] == [1, 2, 3]


def test_a_second_topic_in_one_csv_is_refused_with_the_cure(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path / CSV, is_durable=False)
    shelf.check_topic("a")
    with pytest.raises(ValueError, match=r"holds the events of a, b needs another.*-\{topic\}.csv"):
        shelf.check_topic("b")
    shelf.check_topic("a")


def test_with_topic_in_its_name_each_topic_has_its_own_csv(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path / "stale-{topic}.csv", is_durable=False)
    for topic_id, topic in enumerate(("a", "b.c")):
        shelf.check_topic(topic)
        shelf.add(UUID(int=topic_id), [_event(0, topic, topic=topic)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["stale-a.csv", "stale-b.c.csv"]
    assert [row.value for row in shelf.rows("b.c")] == ["b.c"]


def test_one_sqlite_file_takes_all_topics(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path / SQLITE, is_durable=False)
    for topic_id, topic in enumerate(("a", "b")):
        shelf.check_topic(topic)
        shelf.add(UUID(int=topic_id), [_event(0, topic, topic=topic)])
    assert [row.value for row in shelf.rows("a")] == ["a"]
    with closing(sqlite3.connect(tmp_path / SQLITE)) as database:
        found = database.execute("SELECT topic, value FROM stale ORDER BY topic").fetchall()
    assert found == [("a", "a"), ("b", "b")]


def test_another_kind_of_file_is_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name a file that ends in \.csv or \.sqlite"):
        open_shelf(tmp_path / "stale.parquet", is_durable=False)


def test_a_csv_that_a_spreadsheet_saved_is_read(tmp_path: Path) -> None:
    """Its lines end in CR LF, and what needs no quotes has none."""
    path = tmp_path / CSV
    path.write_bytes(b'partition,offset,timestamp,key,value\r\n0,0,7,,"a, b"\r\n0,1,7,"k",2\r\n')
    shelf = open_shelf(path, is_durable=True)
    shelf.check_topic("t")
    assert shelf.rows("t") == [StaleEvent(0, 0, 7, None, "a, b"), StaleEvent(0, 1, 7, "k", 2)]


def test_a_cell_of_a_megabyte_of_quotes_is_read(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path / CSV, is_durable=False)
    shelf.check_topic("t")
    shelf.add(TOPIC_ID, [_event(0, '"' * 500_000), _event(1, "x" * 1_000_000)])
    assert [len(row.value) for row in shelf.rows("t")] == [500_000, 1_000_000]


def test_pandas_reads_the_columns_of_the_story(tmp_path: Path) -> None:
    shelf = open_shelf(tmp_path / CSV, is_durable=False)
    shelf.check_topic("t")
    shelf.add(TOPIC_ID, [_event(i, 20.5 + i, "tram") for i in range(10)])
    frame = import_module("pandas").read_csv(tmp_path / CSV)
    assert list(frame.columns) == ["partition", "offset", "timestamp", "key", "value"]
    assert list(frame["offset"]) == list(range(10))
    assert frame["value"].mean() == 25.0
    assert set(frame["key"]) == {"tram"}
