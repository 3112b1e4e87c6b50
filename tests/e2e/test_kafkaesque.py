"""`Kafkaesque` as a program uses it: put, extend, get, earliest, latest, topics, positions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque import KafkaError, Kafkaesque, Topic
from kafkaesque.embedded.events import OffsetOutOfRangeError
from kafkaesque.errors import ErrorCode
from kafkaesque.records.murmur2 import partition_for_key


@pytest.fixture(params=["memory", "disk"])
def k(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kafkaesque]:
    kafkaesque = Kafkaesque(tmp_path / "data" if request.param == "disk" else None)
    yield kafkaesque
    kafkaesque.close()


@pytest.fixture(scope="module")
def late() -> Iterator[Topic]:
    """A topic whose offsets 10 to 19 are there: each value is its offset."""
    kafkaesque = Kafkaesque(max_events=10, drop=10)
    kafkaesque.extend("t", range(20))
    yield kafkaesque.topic("t")
    kafkaesque.close()


def _code(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


def test_offsets_count_up_from_0(k: Kafkaesque) -> None:
    assert [k.put("t", letter) for letter in "abc"] == [0, 1, 2]
    assert k.extend("t", ["d", "e"]) == [3, 4]
    assert [k.get("t", n) for n in range(5)] == list("abcde")


def test_negative_numbers_count_back_from_the_latest(k: Kafkaesque) -> None:
    k.extend("t", "abc")
    assert [k.get("t", -n) for n in (1, 2, 3)] == ["c", "b", "a"]


def test_earliest_and_latest_are_offset_and_value(k: Kafkaesque) -> None:
    k.extend("t", range(3))
    assert k.earliest("t") == (0, 0)
    assert k.latest("t") == (2, 2)


@pytest.mark.slow
def test_values_come_back_as_they_were(k: Kafkaesque) -> None:
    values: list[Any] = ["text", b"\x00\xff", None, 12, -0.5, True, [1, {"a": None}], ""]
    k.extend("t", values)
    assert list(k.topic("t")) == values


def test_an_empty_topic_has_nothing_to_get_and_says_where_it_will_begin(k: Kafkaesque) -> None:
    k.create("t")
    for ask in (lambda: k.get("t", 0), lambda: k.earliest("t"), lambda: k.latest("t")):
        with pytest.raises(
            OffsetOutOfRangeError, match=r"empty: the earliest .* will be 0"
        ) as error:
            ask()
        assert error.value.earliest == 0


def test_an_offset_that_is_not_there_yet_is_named_with_those_that_are(k: Kafkaesque) -> None:
    k.extend("t", "abc")
    with pytest.raises(IndexError, match="not there yet: the earliest is 0, the latest 2"):
        k.get("t", 3)
    with pytest.raises(KafkaError, match=r"t-0 has 3 events, no 4: the earliest offset.* is 0"):
        k.get("t", -4)


def test_an_offset_that_is_gone_is_refused_with_the_earliest_that_there_is() -> None:
    k = Kafkaesque(max_events=4, drop=2)
    k.extend("t", range(9))
    with pytest.raises(OffsetOutOfRangeError, match=r"offset 5 of t-0 is gone: .* is 6") as error:
        k.get("t", 5)
    assert error.value.earliest == 6
    assert _code(error) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert k.get("t", error.value.earliest) == 6
    k.close()


@pytest.mark.slow
def test_a_topic_that_is_not_there_is_named(k: Kafkaesque) -> None:
    for ask in (
        lambda: k.get("nowhere", 0),
        lambda: k.latest("nowhere"),
        lambda: k.commit("c", "nowhere", 0),
        lambda: len(k.topic("nowhere")),
        lambda: k.delete("nowhere"),
    ):
        with pytest.raises(KafkaError, match="there is no topic nowhere") as error:
            ask()
        assert _code(error) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_several_partitions_have_to_be_told_apart(k: Kafkaesque) -> None:
    k.create("t", 3)
    k.put("t", "x", partition=2)
    for ask in (
        lambda: k.get("t", 0),
        lambda: k.earliest("t"),
        lambda: k.latest("t"),
        lambda: k.commit("c", "t", 0),
        lambda: k.committed("c", "t"),
        lambda: k.topic("t")[0],
        lambda: k.topic("t")[0:1],
    ):
        with pytest.raises(KafkaError, match="t has partitions 0 to 2: say which one"):
            ask()
    assert k.get("t", 0, 2) == k.get("t", -1, partition=2) == k.topic("t")[2, 0] == "x"
    with pytest.raises(KafkaError, match="t has no partition 3"):
        k.get("t", 0, 3)
    with pytest.raises(KafkaError, match="t has no partition -1"):
        k.put("t", "x", partition=-1)


@pytest.mark.slow
def test_a_key_chooses_the_partition_as_the_java_client_does(k: Kafkaesque) -> None:
    k.create("t", 3)
    k.put("t", "x", key="key1")
    assert k.latest("t", 2) == (0, "x")
    k.extend("t", range(20), key=lambda n: f"key{n}")
    for n in range(20):
        assert n in k.topic("t")[partition_for_key(f"key{n}".encode(), 3), :]


def test_events_without_a_key_take_turns_put_by_put(k: Kafkaesque) -> None:
    k.create("t", 3)
    for n in range(6):
        k.put("t", n)
    assert list(k.topic("t")) == [0, 3, 1, 4, 2, 5]


def test_a_topic_is_chosen_by_the_hash_of_the_key_or_of_the_value(k: Kafkaesque) -> None:
    topics = ["a", "b", "c"]
    for n in range(30):
        k.put(n, topics=topics, key=f"key{n % 10}")
        k.put(f"plain{n % 3}", topics=topics)
    places: dict[Any, set[str]] = {}
    for topic in k.topics:
        for value in k.topic(topic):
            by = f"key{value % 10}" if isinstance(value, int) else value
            places.setdefault(by, set()).add(topic)
    assert {key: {topics[partition_for_key(key.encode(), 3)]} for key in places} == places
    assert len(k.topics) == 3
    assert sum(len(k.topic(topic)) for topic in topics) == 60


@pytest.mark.slow
def test_put_is_called_in_one_of_two_ways(k: Kafkaesque) -> None:
    put: Any = k.put
    for call in (
        lambda: put("t"),
        lambda: put("t", "x", "y"),
        lambda: put("t", "x", topics=["a"]),
        lambda: put("x", topics=[]),
        lambda: put("x", topics="orders"),
        lambda: k.group("g", "orders"),
    ):
        with pytest.raises(TypeError, match=r"topics"):
            call()
    assert k.topics == []


def test_extend_takes_all_or_nothing(k: Kafkaesque) -> None:
    def values() -> Iterator[Any]:
        yield "fine"
        raise ZeroDivisionError

    k.create("t", 2)
    with pytest.raises(TypeError):
        k.extend("t", ["fine", {1, 2}])
    with pytest.raises(ZeroDivisionError):
        k.extend("t", values())
    with pytest.raises(KafkaError, match="has no partition 2"):
        k.extend("t", ["fine"], partition=2)
    assert len(k.topic("t")) == 0
    assert k.extend("t", []) == []


def test_an_event_that_is_too_large_is_refused_with_the_limit_and_so_are_its_companions(
    k: Kafkaesque,
) -> None:
    k.create("t", 2, {"max.message.bytes": "1000"})
    for size in (1000, 940):
        with pytest.raises(KafkaError, match=r"exceeds max.message.bytes=1000 of t") as error:
            k.extend("t", ["a", "b", "x" * size], key=lambda value: value[:1])
        assert _code(error) is ErrorCode.MESSAGE_TOO_LARGE
    assert len(k.topic("t")) == 0


def test_many_events_fit_where_one_batch_of_them_would_not(k: Kafkaesque) -> None:
    k.create("t", 1, {"max.message.bytes": "1000"})
    values = ["x" * size for size in range(0, 900, 9)]
    assert k.extend("t", values) == list(range(100))
    assert list(k.topic("t")) == values


def test_extend_of_some_megabytes_is_dense(k: Kafkaesque) -> None:
    assert k.extend("t", ["x" * 1000] * 3000) == list(range(3000))
    assert len(list(k.topic("t"))) == 3000


def test_a_compacted_topic_wants_keys(k: Kafkaesque) -> None:
    k.create("t", config={"cleanup.policy": "compact"})
    with pytest.raises(KafkaError, match="t is compacted: each event needs a key"):
        k.extend("t", ["a"])
    assert k.extend("t", ["a"], key="k") == [0]


def test_a_topic_is_read_like_a_list(k: Kafkaesque) -> None:
    topic = k.topic("t")
    topic.extend(range(10))
    assert topic.put(10) == 10
    assert (topic[3], topic[-1], topic.get(4)) == (3, 10, 4)
    assert (topic[3:6], topic[8:], topic[:2], topic[-2:]) == (
        [3, 4, 5],
        [8, 9, 10],
        [0, 1],
        [9, 10],
    )
    assert (topic[5:5], topic[20:30], topic[6:2]) == ([], [], [])
    assert (len(topic), topic.partitions, list(topic)) == (11, 1, list(range(11)))
    assert (topic.earliest(), topic.latest()) == ((0, 0), (10, 10))
    with pytest.raises(ValueError, match="no step"):
        topic[::2]


@given(st.integers(-30, 30) | st.none(), st.integers(-30, 30) | st.none())
def test_a_slice_is_of_offsets_and_takes_what_is_there(
    late: Topic, start: int | None, stop: int | None
) -> None:
    """What counts back counts from the end, as with a list."""
    assert late[start:stop] == [n for n in range(20)[start:stop] if n >= 10]


@pytest.mark.slow
def test_topics_are_made_listed_and_deleted(k: Kafkaesque) -> None:
    k.create("b", 2)
    k.put("a", "x")
    k.commit("c", "a", 1)
    assert k.topics == ["a", "b"]
    assert k.topic("b").partitions == 2
    k.delete("a")
    assert k.topics == ["b"]
    assert k.put("a", "y") == 0
    assert k.committed("c", "a") is None


def test_what_cannot_be_a_topic_is_refused(k: Kafkaesque) -> None:
    k.create("t")
    for create, why in (
        (lambda: k.create("t"), "already exists"),
        (lambda: k.create("no spaces"), "invalid"),
        (lambda: k.put("no/slashes", "x"), "invalid"),
        (lambda: k.create("u", 0), "1 at least"),
        (lambda: k.create("u", -3), "1 at least"),
        (lambda: k.create("u", config={"nonsense": "1"}), "nonsense"),
        (lambda: k.put("__consumer_offsets", "x"), "broker's own"),
        (lambda: k.delete("__consumer_offsets"), "broker's own"),
    ):
        with pytest.raises(KafkaError, match=why):
            create()
    assert k.topics == ["t"]


def test_a_consumer_keeps_its_position(k: Kafkaesque) -> None:
    k.extend("t", "abc")
    assert k.committed("me", "t") is None
    k.commit("me", "t", 2)
    k.commit("you", "t", 1)
    assert (k.committed("me", "t"), k.committed("you", "t")) == (2, 1)
    k.commit("me", "t", 0)
    assert k.committed("me", "t") == 0
    with pytest.raises(ValueError, match="-1 is no offset"):
        k.commit("me", "t", -1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"partitions": 0}, "1 at least"),
        ({"max_events": 0}, "1 event at least"),
        ({"max_events": 4, "drop": 5}, "not between 1 and max_events=4"),
        ({"max_events": 4, "drop": 0}, "not between 1 and max_events=4"),
        ({"drop": 5}, "give that too"),
        ({"stale": "x.csv"}, "give that too"),
        ({"max_events": 4, "stale": "x.txt"}, "ends in .csv or .sqlite"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Kafkaesque(**options)


def test_a_topic_tells_which_of_its_partitions_is_offline(tmp_path: Path) -> None:
    """And the others are there."""
    with Kafkaesque(tmp_path) as k:
        k.create("t", partitions=2)
        for partition in range(2):
            k.put("t", partition, partition=partition)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    segment = tmp_path / "t-1" / f"{0:020}.log"
    segment.rename(tmp_path / "aside")
    segment.mkdir()
    with Kafkaesque(tmp_path) as k:
        topic = k.topic("t")
        assert repr(topic) == "<Topic t: 0: offset 0, 1: offline>"
        assert "topic t: 0: offset 0, 1: offline" in repr(k)
        assert (topic.partitions, topic[0, 0:]) == (2, [0])
        with pytest.raises(KafkaError) as told:
            len(topic)
        assert _code(told) is ErrorCode.KAFKA_STORAGE_ERROR
