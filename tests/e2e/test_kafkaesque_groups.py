"""Consumer groups inside the program: shares, hand-overs, positions."""

import subprocess
import sys
import threading
from collections.abc import Hashable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from kafkaesque import ConsumerGroup, KafkaError, Kafkaesque
from kafkaesque.errors import ErrorCode
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

CRASHED = """
import os, sys
from kafkaesque import Kafkaesque
k = Kafkaesque(sys.argv[1])
k.extend("t", "abcdef")
group = k.group("g")
group.join("c")
print("".join(group.next("c").value for _ in range(3)), flush=True)
os._exit(1)
"""


@pytest.fixture
def k() -> Iterator[Kafkaesque]:
    kafkaesque = Kafkaesque()
    yield kafkaesque
    kafkaesque.close()


def _names(topic: str, *partitions: int) -> list[TopicPartition]:
    return [TopicPartition(topic, partition) for partition in partitions]


def _values(group: ConsumerGroup, consumer: Hashable, count: int | None = None) -> list[Any]:
    """So many of a consumer's next values; without a number, all there are."""
    values: list[Any] = []
    while count is None or len(values) < count:
        event = group.next(consumer)
        if event is None:
            assert count is None, f"{len(values)} of {count} events came"
            break
        values.append(event.value)
    return values


def _event(group: ConsumerGroup, consumer: Hashable, timeout: float = 0) -> Event:
    event = group.next(consumer, timeout)
    assert event is not None
    return event


@pytest.mark.slow
def test_joining_and_leaving_share_the_partitions_out_again(k: Kafkaesque) -> None:
    k.create("t", 5)
    group = k.group("g")
    assert group.assignment == {}
    assert group.join("a") == _names("t", 0, 1, 2, 3, 4)
    group.join("b")
    shares = group.assignment
    assert sorted(map(len, shares.values())) == [2, 3]
    assert sorted(shares["a"] + shares["b"]) == _names("t", 0, 1, 2, 3, 4)
    assert group.join("b") == shares["b"], "who is in already stays"
    assert group.assignment == shares
    group.leave("a")
    assert group.assignment == {"b": _names("t", 0, 1, 2, 3, 4)}
    group.leave("b")
    assert group.assignment == {}


def test_with_more_consumers_than_partitions_some_have_nothing(k: Kafkaesque) -> None:
    k.create("t", 2)
    group = k.group("g")
    for consumer in range(4):
        group.join(consumer)
    assert sorted(map(len, group.assignment.values())) == [0, 0, 1, 1]
    idle = next(c for c, share in group.assignment.items() if not share)
    assert group.next(idle) is None


def test_a_consumer_is_anything_hashable(k: Kafkaesque) -> None:
    k.create("t", 3)
    group = k.group("g")
    consumers: list[Hashable] = ["a", 7, ("x", 1)]
    for consumer in consumers:
        group.join(consumer)
    assert set(group.assignment) == set(consumers)
    with pytest.raises(TypeError, match="unhashable"):
        group.join(["a"])  # type: ignore[arg-type]


def test_an_event_says_where_it_lies(k: Kafkaesque) -> None:
    k.create("t", 3)
    k.put("t", {"n": 1}, key="key1")
    group = k.group("g")
    group.join("c")
    event = _event(group, "c")
    assert (event.topic, event.partition, event.offset) == ("t", 2, 0)
    assert (event.key, event.value) == ("key1", {"n": 1})
    assert event.timestamp > 0


def test_partitions_take_turns(k: Kafkaesque) -> None:
    k.create("t", 3)
    for partition in range(3):
        k.extend("t", [partition] * 4, partition=partition)
    group = k.group("g")
    group.join("c")
    values = _values(group, "c")
    assert values == [0, 1, 2] * 4


def test_every_group_sees_every_event(k: Kafkaesque) -> None:
    k.extend("t", "abc")
    for name in ("g", "h"):
        group = k.group(name)
        group.join("c")
        assert _values(group, "c") == list("abc")


def test_a_newcomer_goes_on_where_the_others_were(k: Kafkaesque) -> None:
    k.create("t", 2)
    for partition in range(2):
        k.extend("t", range(partition * 10, partition * 10 + 10), partition=partition)
    group = k.group("g")
    group.join("a")
    seen = _values(group, "a", 7)
    group.join("b")
    assert sorted(seen + _values(group, "a") + _values(group, "b")) == list(range(20))


def test_a_group_reads_the_topics_that_it_was_told(k: Kafkaesque) -> None:
    for topic in ("a", "b", "c"):
        k.put(topic, topic)
    group = k.group("g", ["a", "c", "later"])
    group.join(1)
    assert sorted(_values(group, 1)) == ["a", "c"]
    k.put("later", "later")
    assert _values(group, 1) == ["later"]
    assert k.group("g").assignment == k.group("g", {"c", "later", "a"}).assignment
    with pytest.raises(
        ValueError, match=r"group g reads a, c, later: .* give the other one anothe"
    ):
        k.group("g", ["a"])


def test_without_topics_a_group_reads_all_even_those_made_later(k: Kafkaesque) -> None:
    group = k.group("g")
    assert group.join("c") == []
    assert group.next("c") is None
    k.put("later", "x")
    assert _values(group, "c") == ["x"]
    assert group.assignment == {"c": _names("later", 0)}
    with pytest.raises(ValueError, match="group g reads all topics"):
        k.group("g", ["a"])


def test_a_topic_made_again_is_read_from_its_beginning(k: Kafkaesque) -> None:
    k.extend("t", range(5))
    group = k.group("g")
    group.join("c")
    assert _values(group, "c", 3) == [0, 1, 2]
    k.delete("t")
    k.extend("t", ["new"] * 4)
    assert _values(group, "c") == ["new"] * 4
    assert k.committed("g", "t") == 4


@pytest.mark.slow
def test_next_waits_for_a_put_of_another_thread(k: Kafkaesque) -> None:
    k.create("t")
    group = k.group("g")
    group.join("c")
    timer = threading.Timer(0.05, lambda: k.put("t", "late"))
    timer.start()
    assert _event(group, "c", timeout=60).value == "late"
    timer.join()
    assert group.next("c", timeout=0.01) is None


def test_next_commits_the_event_before(k: Kafkaesque) -> None:
    k.extend("t", "abc")
    group = k.group("g")
    group.join("c")
    committed = []
    for _ in range(4):
        group.next("c")
        committed.append(k.committed("g", "t"))
    assert committed == [None, 1, 2, 3]


@pytest.mark.slow
def test_a_position_past_the_end_begins_at_the_earliest(k: Kafkaesque) -> None:
    k.extend("t", "ab")
    k.commit("g", "t", 7)
    group = k.group("g")
    group.join("c")
    assert _values(group, "c") == ["a", "b"]


@pytest.mark.slow
def test_who_leaves_is_done_with_the_last_event(k: Kafkaesque) -> None:
    k.extend("t", "abc")
    group = k.group("g")
    group.join("c")
    assert _values(group, "c", 2) == ["a", "b"]
    group.leave("c")
    assert k.committed("g", "t") == 2
    group.join("d")
    assert _values(group, "d") == ["c"]


def test_after_a_close_a_group_goes_on_behind_its_last_event(tmp_path: Path) -> None:
    k = Kafkaesque(tmp_path / "data")
    k.extend("t", "abcdef")
    group = k.group("g")
    group.join("c")
    assert _values(group, "c", 3) == ["a", "b", "c"]
    k.close()
    k = Kafkaesque(tmp_path / "data")
    group = k.group("g")
    group.join("c")
    assert _values(group, "c") == ["d", "e", "f"]
    k.close()


@pytest.mark.slow
def test_after_a_crash_the_last_event_comes_again(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CRASHED, str(tmp_path / "data")]
    crashed = subprocess.run(command, capture_output=True, text=True)
    assert (crashed.stdout, crashed.stderr) == ("abc\n", "")
    k = Kafkaesque(tmp_path / "data")
    group = k.group("g")
    assert group.assignment == {}, "who crashed is not waited for"
    group.join("c")
    assert _values(group, "c") == list("cdef")
    k.close()


def test_who_is_not_in_is_told_to_join(k: Kafkaesque) -> None:
    k.create("t")
    group = k.group("g")
    group.join("c")
    group.leave("c")
    for call in (group.next, group.leave):
        with pytest.raises(KafkaError, match="'c' is not in group g: let it join first") as error:
            call("c")
        assert error.value.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_position_cannot_be_set_under_the_hands_of_a_group_that_reads(k: Kafkaesque) -> None:
    k.extend("t", "abc")
    group = k.group("g")
    group.join("c")
    with pytest.raises(KafkaError, match="g has members that read for it"):
        k.commit("g", "t", 2)
    group.leave("c")
    k.commit("g", "t", 2)
    group.join("c")
    assert _values(group, "c") == ["c"]


@pytest.mark.slow
def test_many_threads_each_with_its_consumer_share_the_events() -> None:
    k = Kafkaesque()
    k.create("t", 8)
    group = k.group("g")
    for consumer in range(8):
        group.join(consumer)
    seen: dict[int, list[Any]] = {}
    total = 400

    def consume(consumer: int) -> None:
        mine = seen[consumer] = []
        while sum(map(len, tuple(seen.values()))) < total:
            if event := group.next(consumer, timeout=0.05):
                mine.append(event.value)

    threads = [threading.Thread(target=consume, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for n in range(total):
        k.put("t", n, key=str(n))
    for thread in threads:
        thread.join(60)
    assert sorted(chain(*seen.values())) == list(range(total))
    assert all(seen.values()), "each of them had some"
    k.close()


def test_threads_that_join_and_leave_at_once_lose_nothing() -> None:
    k = Kafkaesque(partitions=4)
    k.extend("t", range(200), key=str)
    group = k.group("g")
    seen: list[Any] = []

    def come_and_go(consumer: int) -> None:
        for _ in range(5):
            group.join(consumer)
            for _ in range(3):
                if event := group.next(consumer):
                    seen.append(event.value)
            group.leave(consumer)

    threads = [threading.Thread(target=come_and_go, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    group.join("last")
    seen += _values(group, "last")
    assert sorted(seen) == list(range(200))
    k.close()


@pytest.mark.slow
def test_however_often_a_group_is_disturbed_each_event_comes_once(tmp_path: Path) -> None:
    k = Kafkaesque(tmp_path / "data", partitions=4)
    k.extend("t", range(150), key=str)
    group = k.group("g")
    for consumer in range(3):
        group.join(consumer)
    seen: list[Any] = []
    ended = threading.Event()

    async def disturb() -> None:
        for member in k._groups["g"]._members.values():
            member.rejoin()

    def consume(consumer: int) -> None:
        while event := group.next(consumer):
            seen.append(event.value)

    def keep_disturbing() -> None:
        while not ended.wait(0.003):
            k._call(disturb)
            k._call(disturb)

    readers = [threading.Thread(target=consume, args=[n]) for n in range(3)]
    disturber = threading.Thread(target=keep_disturbing)
    for thread in (*readers, disturber):
        thread.start()
    for thread in readers:
        thread.join(60)
    ended.set()
    disturber.join()
    for consumer in range(3):
        consume(consumer)
    assert sorted(seen) == list(range(150))
    k.close()
