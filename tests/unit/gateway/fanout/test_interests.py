"""Who wants a record."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.gateway.fanout.subscribing import subscription

from kafkaesque.client.filters import Subject, parse
from kafkaesque.gateway.fanout.interests import Interests
from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.wants import EVERYTHING, Wants
from kafkaesque.records.record import Record

WEB = ("source", b"web")

KINDS = [
    EVERYTHING,
    Wants(keys=(b"a",)),
    Wants(keys=(b"a", b"ab", b"")),
    Wants(prefix=b"a"),
    Wants(prefix=b"ab"),
    Wants(prefix=b""),
    Wants(headers=(WEB,)),
    Wants(headers=(WEB, ("x", b"1"))),
    Wants(predicate=parse("value.price > 100")),
    Wants(predicate=parse("value.price > 100 and value.ticker in ('A', 'B')")),
    Wants(keys=(b"a",), predicate=parse("value.price > 100")),
    Wants(prefix=b"a", headers=(WEB,)),
    Wants(headers=(WEB,), predicate=parse("value.price > 100")),
]


def wants_it(wants: Wants, record: Record) -> bool:
    """The plain meaning, without an index."""
    if wants.keys is not None and record.key not in wants.keys:
        return False
    if wants.prefix is not None and not (record.key or b"").startswith(wants.prefix):
        return False
    if wants.prefix is not None and record.key is None:
        return False
    return wants.matches_beside_key(Subject("t", 0, record))


records = st.builds(
    Record,
    st.just(0),
    st.just(0),
    st.sampled_from([None, b"", b"a", b"ab", b"abc", b"b"]),
    st.sampled_from([None, b"", b'{"price":101}', b'{"price":101,"ticker":"A"}', b"{", b"5"]),
    st.lists(st.sampled_from([WEB, ("x", b"1"), ("source", None)]), max_size=3).map(tuple),
)


@given(st.lists(st.integers(0, len(KINDS) - 1), max_size=20), st.data())
def test_it_finds_what_asking_each_would_find(kinds: list[int], data: st.DataObject) -> None:
    stream, interests = Stream("t", 1), Interests("t")
    subscriptions = [subscription(stream, KINDS[kind]) for kind in kinds]
    for each in subscriptions:
        interests.add(each)
    leaving = data.draw(st.sets(st.sampled_from(subscriptions))) if subscriptions else set()
    for each in leaving:
        interests.remove(each)
    for record in data.draw(st.lists(records, max_size=5)):
        found = interests.matching(0, record)
        staying = [each for each in subscriptions if each not in leaving]
        assert same(found, [each for each in staying if wants_it(each.wants, record)])


def test_nothing_is_left_when_all_have_gone() -> None:
    stream, interests = Stream("t", 1), Interests("t")
    empty = repr_of(interests)
    subscriptions = [subscription(stream, kind) for kind in KINDS]
    for each in subscriptions:
        interests.add(each)
    for each in subscriptions:
        interests.remove(each)
    assert repr_of(interests) == empty


def same(found: Iterable[object], expected: list[object]) -> bool:
    """Each once, in any order."""
    return sorted(map(id, found)) == sorted(map(id, expected))


def repr_of(interests: Interests) -> list[str]:
    return [repr(part) for name, part in vars(interests).items() if name != "_by_predicate"]
