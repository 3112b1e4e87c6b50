"""Topics bounded by events: what falls off the old end, and where it goes."""

import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests import foreign

from kafkaesque import KafkaError, Kafkaesque
from kafkaesque.embedded.events import OffsetOutOfRangeError

pytestmark = pytest.mark.slow


def test_offset_12_is_still_12_when_the_first_10_have_gone() -> None:
    k = Kafkaesque(max_events=20, drop=10)
    k.extend("t", range(20))
    assert k.earliest("t") == (0, 0)
    k.put("t", 20)
    assert k.earliest("t") == (10, 10)
    assert k.get("t", 12) == k.topic("t")[12] == 12
    assert len(k.topic("t")) == 11
    k.close()


def test_without_a_number_half_of_them_drop() -> None:
    k = Kafkaesque(max_events=5)
    k.extend("t", range(6))
    assert k.earliest("t") == (2, 2)
    k.close()


@pytest.mark.parametrize("name", ["x.csv", "x.sqlite"])
@pytest.mark.parametrize("directory", [None, "data"])
def test_what_falls_off_is_given_back_as_rows(
    tmp_path: Path, name: str, directory: str | None
) -> None:
    where = tmp_path / directory if directory else None
    k = Kafkaesque(where, max_events=20, drop=10, stale=tmp_path / name)
    k.extend("t", [{"n": n} for n in range(35)], key=lambda value: f"k{value['n'] % 3}")
    rows = k.stale("t")
    assert [(row.partition, row.offset, row.key) for row in rows] == [
        (0, n, f"k{n % 3}") for n in range(20)
    ]
    assert rows[7].value == '{"n": 7}'
    assert list(k.topic("t")) == [{"n": n} for n in range(20, 35)]
    k.close()


def test_pandas_reads_what_fell_off(tmp_path: Path) -> None:
    k = Kafkaesque(max_events=20, drop=10, stale=tmp_path / "x.csv")
    k.extend("t", [n / 2 for n in range(21)])
    k.close()
    frame = import_module("pandas").read_csv(tmp_path / "x.csv")
    assert list(frame["offset"]) == list(range(10))
    assert list(frame["value"]) == [n / 2 for n in range(10)]


def test_each_partition_has_its_own_bound(tmp_path: Path) -> None:
    k = Kafkaesque(partitions=3, max_events=4, drop=2, stale=tmp_path / "x.csv")
    for partition in range(3):
        k.extend("t", range(partition * 4 + 1), partition=partition)
    assert [k.earliest("t", p)[0] for p in range(3)] == [0, 2, 6]
    fallen = [(row.partition, row.offset) for row in k.stale("t")]
    assert fallen == [(1, 0), (1, 1), *((2, n) for n in range(6))]
    k.close()


def test_a_second_topic_in_one_csv_is_refused_before_anything_is_put(tmp_path: Path) -> None:
    k = Kafkaesque(max_events=4, stale=tmp_path / "x.csv")
    k.put("a", 1)
    with pytest.raises(ValueError, match=r"holds the events of a, b needs another file"):
        k.put("b", 1)
    assert k.topics == ["a"]
    k.close()


def test_with_topic_in_the_name_there_is_a_csv_for_each(tmp_path: Path) -> None:
    k = Kafkaesque(max_events=2, drop=2, stale=tmp_path / "{topic}.csv")
    for topic in ("a", "b"):
        k.extend(topic, [topic] * 3)
        assert [row.value for row in k.stale(topic)] == [topic] * 2
    k.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_without_a_shelf_there_is_nothing_to_give_back() -> None:
    k = Kafkaesque(max_events=2)
    with pytest.raises(ValueError, match="open it with stale="):
        k.stale("t")
    k.close()


def test_a_file_of_an_earlier_run_is_refused_with_the_cure(tmp_path: Path) -> None:
    for _ in range(2):
        k = Kafkaesque(max_events=2, drop=2, stale=tmp_path / "x.csv")
        if (tmp_path / "x.csv").exists():
            with pytest.raises(ValueError, match=r"earlier run.*Kafkaesque\(directory"):
                k.put("t", 1)
        else:
            k.extend("t", range(3))
        k.close()


def test_on_disk_the_bound_and_the_rows_outlive_the_program(tmp_path: Path) -> None:
    for start in (0, 10):
        k = Kafkaesque(tmp_path / "data", max_events=4, drop=2, stale=tmp_path / "x.csv")
        assert k.extend("t", range(start, start + 10)) == list(range(start, start + 10))
        k.close()
    k = Kafkaesque(tmp_path / "data", max_events=4, drop=2, stale=tmp_path / "x.csv")
    assert k.earliest("t") == (16, 16)
    assert [row.value for row in k.stale("t")] == list(range(16))
    k.close()


def test_a_bound_that_comes_later_holds_at_once(tmp_path: Path) -> None:
    k = Kafkaesque(tmp_path / "data")
    k.extend("t", range(10))
    k.close()
    k = Kafkaesque(tmp_path / "data", max_events=3, drop=1)
    assert k.earliest("t") == (7, 7)
    k.close()


def test_two_topics_with_one_csv_are_refused_at_the_start_and_left_as_they_were(
    tmp_path: Path,
) -> None:
    k = Kafkaesque(tmp_path / "data")
    for topic in ("a", "b"):
        k.extend(topic, range(10))
    k.close()
    with pytest.raises(ValueError, match="needs another file"):
        Kafkaesque(tmp_path / "data", max_events=3, stale=tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()
    k = Kafkaesque(tmp_path / "data")
    assert [len(k.topic(topic)) for topic in k.topics] == [10, 10]
    k.close()


@pytest.mark.parametrize("directory", [None, "data"])
@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_what_kafka_clients_produce_is_bounded_too(
    tmp_path: Path, directory: str | None, acks: Any
) -> None:
    where = tmp_path / directory if directory else None
    with Kafkaesque(where, max_events=20, drop=10, stale=tmp_path / "x.csv") as k:
        values = [f"v{n}" for n in range(95)]
        foreign.produce(k.bootstrap_servers, "t", values, acks=acks)
        foreign.until(lambda: "t" in k.topics and k.topic("t")._spans()[0].end == 95)
        foreign.until(lambda: len(k.topic("t")) <= 20)
        assert [row.value for row in k.stale("t")] + list(k.topic("t")) == values
        (oldest,) = foreign.read(k.bootstrap_servers, "t", 1)
        assert (oldest.offset(), oldest.value()) == (k.earliest("t")[0], b"v80")


def test_a_clients_topic_without_a_place_on_the_shelf_is_not_bounded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Kafkaesque(max_events=2, drop=1, stale=tmp_path / "x.csv") as k:
        k.extend("a", range(3))
        for _ in range(2):
            foreign.produce(k.bootstrap_servers, "b", ["x"] * 5)
        assert len(k.topic("b")) == 10
        assert k.stale("b") == []
        with pytest.raises(ValueError, match="b needs another file"):
            k.create("b")
        k.extend("a", range(2))
        assert [row.offset for row in k.stale("a")] == [0, 1, 2]
    assert caplog.text.count("b is not bounded") == 1


def test_another_clients_poison_does_not_stop_the_topic(tmp_path: Path) -> None:
    """JSON that spells half a surrogate pair: no file can hold that character."""
    with Kafkaesque(max_events=2, drop=1, stale=tmp_path / "x.csv") as k:
        producer = _producer(k.bootstrap_servers)
        header = [("content-type", b"application/json")]
        producer.produce("t", rb'"\ud800"', headers=header)
        producer.produce("t", b"[" * 100_000, headers=header)
        assert producer.flush(foreign.TIMEOUT_S) == 0
        k.extend("t", range(4))
        assert [row.offset for row in k.stale("t")] == [0, 1, 2, 3]
        assert k.stale("t")[0].value == r'"\ud800"'


def _producer(bootstrap: str) -> Any:
    return import_module("confluent_kafka").Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0}
    )


def test_rows_can_be_read_while_others_are_written(tmp_path: Path) -> None:
    k = Kafkaesque(max_events=4, drop=2, stale=tmp_path / "x.csv")
    k.put("t", "🚋" * 500)
    ended = threading.Event()

    def write() -> None:
        for _ in range(100):
            k.extend("t", ["🚋" * 500] * 4)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while not ended.is_set():
        offsets = [row.offset for row in k.stale("t")]
        assert offsets == list(range(len(offsets)))
        assert len(offsets) >= seen
        seen = len(offsets)
    writer.join()
    assert len(k.stale("t")) + len(k.topic("t")) == 401
    k.close()


def test_a_group_goes_on_with_what_there_is_when_its_next_event_has_gone() -> None:
    k = Kafkaesque(max_events=4, drop=4)
    group = k.group("g")
    k.extend("t", range(2))
    group.join("c")
    event = group.next("c")
    assert event is not None
    assert event.value == 0
    k.extend("t", range(2, 10))
    event = group.next("c")
    assert event is not None
    assert event.offset == k.earliest("t")[0] == 8
    k.close()


def test_errors_of_a_bounded_topic_are_those_of_any(tmp_path: Path) -> None:
    k = Kafkaesque(max_events=2, drop=1, stale=tmp_path / "x.csv")
    k.extend("t", range(5))
    with pytest.raises(OffsetOutOfRangeError, match="offset 0 of t-0 is gone"):
        k.get("t", 0)
    with pytest.raises(KafkaError, match="t-0 has 2 events, no 3"):
        k.get("t", -3)
    k.close()
