"""What a slow subscription keeps, and what it is told that it missed."""

from kafkaesque.gateway.fanout.backlog import Backlog, Missed
from kafkaesque.gateway.fanout.delivery import Delivery
from kafkaesque.gateway.fanout.ring import Ring
from kafkaesque.records.record import Record


def delivery(offset: int, key: bytes = b"k", partition: int = 0, size: int = 10) -> Delivery:
    return Delivery("ticks", partition, Record(offset, 0, key, b"v" * size))


def held(backlog: Backlog, *deliveries: Delivery) -> list[Delivery]:
    for each in deliveries:
        backlog.hold(each)
    return list(deliveries)


def told(backlog: Backlog, max_bytes: int = 1 << 20) -> list[Missed | int]:
    """What is taken: gaps, and offsets."""
    taken = backlog.take(max_bytes)
    return [each if isinstance(each, Missed) else each.offset for each in taken]


def test_what_fits_is_kept_in_order_and_nothing_is_missed() -> None:
    backlog = Backlog(Ring(1 << 20), 10, conflates=False)
    held(backlog, *(delivery(offset) for offset in (3, 5, 9)))
    assert told(backlog) == [3, 5, 9]
    assert backlog.is_settled


def test_the_oldest_go_first_and_are_told_as_one_range() -> None:
    backlog = Backlog(Ring(1 << 20), 2, conflates=False)
    held(backlog, *(delivery(offset) for offset in (3, 5, 9, 12)))
    assert told(backlog) == [Missed(0, 3, 8, 2), 9, 12]


def test_a_range_is_told_per_partition() -> None:
    backlog = Backlog(Ring(1 << 20), 1, conflates=False)
    held(backlog, delivery(3), delivery(70, partition=1), delivery(4), delivery(71, partition=1))
    assert told(backlog) == [Missed(1, 70, 70, 1), 71, Missed(0, 3, 4, 2)]


def test_the_newest_of_each_key_is_kept_and_the_gaps_lie_between() -> None:
    backlog = Backlog(Ring(1 << 20), 10, conflates=True)
    held(
        backlog,
        *(delivery(5, b"a"), delivery(7, b"b"), delivery(9, b"c"), delivery(12, b"a")),
        *(delivery(15, b"b"), delivery(20, b"a")),
    )
    assert told(backlog) == [Missed(0, 5, 8, 2), 9, Missed(0, 10, 14, 1), 15, 20]


def test_what_is_taken_in_pieces_is_reported_in_pieces_without_overlap() -> None:
    backlog = Backlog(Ring(1 << 20), 10, conflates=True)
    held(backlog, *(delivery(offset, b"%d" % (offset % 3)) for offset in range(9)))
    assert told(backlog, 1) == [Missed(0, 0, 5, 6), 6]
    held(backlog, delivery(9, b"1"))
    assert told(backlog, 1) == [Missed(0, 7, 7, 1), 8]
    assert told(backlog, 1) == [9]
    assert backlog.is_settled


def test_a_ring_that_is_full_lets_the_oldest_go_and_their_owners_learn_it() -> None:
    ring = Ring(3000)
    backlog = Backlog(ring, 100, conflates=False)
    held(backlog, *(delivery(offset, size=500) for offset in range(6)))
    assert ring.bytes <= 3000
    assert told(backlog) == [Missed(0, 0, 2, 3), 3, 4, 5]


def test_a_ring_forgets_what_nobody_waits_for() -> None:
    ring = Ring(1 << 20)
    one, other = (Backlog(ring, 10, conflates=False) for _ in range(2))
    shared = delivery(1)
    held(one, shared)
    held(other, shared)
    assert len(ring) == 1
    one.take(1 << 20)
    ring.sweep()
    assert len(ring) == 1
    other.clear()
    ring.sweep()
    assert (len(ring), ring.bytes) == (0, 0)


def test_it_knows_where_to_go_on() -> None:
    backlog = Backlog(Ring(1 << 20), 1, conflates=False)
    held(backlog, delivery(3), delivery(70, partition=1), delivery(4))
    assert backlog.first_offsets() == {0: 3, 1: 70}
