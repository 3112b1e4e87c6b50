"""Whatever a slow subscription goes through: what it got and what it was told it missed are
together all that matched, have nothing in common, and come in the order of the log. Each range is
told with its own matches, so that a client that is cut off after any of them has the right sum.
"""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from kafkaesque.gateway.fanout.backlog import Backlog, Missed
from kafkaesque.gateway.fanout.delivery import Delivery
from kafkaesque.gateway.fanout.ring import Ring
from kafkaesque.records.record import Record

matches = st.tuples(st.just("match"), st.integers(0, 1), st.integers(1, 5), st.integers(0, 3))
takes = st.tuples(st.just("take"), st.integers(1, 300), st.just(0), st.just(0))


@settings(max_examples=examples(200))
@given(
    st.lists(matches | matches | takes, min_size=20, max_size=60),
    st.booleans(),
    st.integers(1, 6),
    st.sampled_from([1200, 3000, 1 << 20]),
)
def test_delivered_and_missed_are_all_and_disjoint(
    steps: list[tuple[str, int, int, int]], conflates: bool, limit: int, ring_bytes: int
) -> None:
    ring = Ring(ring_bytes)
    backlog = Backlog(ring, limit, conflates)
    end = dict.fromkeys(range(2), 0)
    matched: set[tuple[int, int]] = set()
    delivered: list[tuple[int, int]] = []
    ranges: list[tuple[int, int, int]] = []
    order: dict[int, int] = {}

    def take(max_bytes: int) -> None:
        for each in backlog.take(max_bytes):
            if isinstance(each, Missed):
                ranges.append(each[:3])
                inside = range(each.first, each.last + 1)
                assert each.matches == sum(p == each.partition and o in inside for p, o in matched)
                assert order.get(each.partition, -1) < each.first <= each.last
                order[each.partition] = each.last
            else:
                delivered.append((each.partition, each.offset))
                assert order.get(each.partition, -1) < each.offset
                order[each.partition] = each.offset

    for kind, first, second, key in steps:
        if kind == "match":
            end[first] += second
            record = Record(end[first], 0, b"%d" % key, b"v" * 100)
            matched.add((first, end[first]))
            backlog.hold(Delivery("t", first, record))
        else:
            take(first)
        assert ring.bytes <= ring_bytes
        assert len(backlog) <= limit
    while not backlog.is_settled:
        take(100)
    missed = {
        place
        for place in matched
        if any(place[0] == p and low <= place[1] <= high for p, low, high in ranges)
    }
    assert len(delivered) == len(set(delivered))
    assert set(delivered) | missed == matched
    assert not set(delivered) & missed
    ring.sweep()
    assert ring.bytes == 0
