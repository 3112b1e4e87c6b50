"""Which events a reader wants."""

from kafkaesque.client.filters import parse
from kafkaesque.gateway.events.want import Want
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition

PLACE = TopicPartition("ticks", 0)


def wanted(want: Want, key: bytes | None, value: bytes = b"{}") -> bool:
    return want.matches(PLACE, Record(0, 0, key, value))


def test_without_conditions_everything_is_wanted() -> None:
    assert wanted(Want(("ticks",)), None)


def test_keys_are_alternatives_and_a_null_key_is_none_of_them() -> None:
    want = Want(("ticks",), keys=frozenset([b"a", b"b"]))
    assert [wanted(want, key) for key in (b"a", b"b", b"c", None)] == [True, True, False, False]


def test_all_conditions_must_hold() -> None:
    want = Want(("ticks",), prefix=b"A", where=parse("value.price > 100"))
    assert wanted(want, b"AMZN", b'{"price":101}')
    assert not wanted(want, b"AMZN", b'{"price":99}')
    assert not wanted(want, b"GOOG", b'{"price":101}')
    assert not wanted(want, None, b'{"price":101}')


def test_one_topic_has_a_name_of_its_own() -> None:
    assert Want(("a",)).topic == "a"
    assert Want(("a", "b")).topic is None
    assert Want(("a",), frozenset([1])).includes(1)
    assert not Want(("a",), frozenset([1])).includes(0)
