"""Which partitions of a topic are read, and who has seen what of them."""

from collections.abc import Mapping

from tests.unit.gateway.fanout.subscribing import subscription

from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import EVERYTHING, Wants
from kafkaesque.records.murmur2 import partition_for_key

KEYS = [f"key{number}".encode() for number in range(100)]
KEY = b"key1"  # Partition 2 of 3.


def joined(
    stream: Stream, wants: Wants, given: Mapping[int, int] | None = None, end: int = 100
) -> Subscription:
    """As the hub does it, in a topic whose partitions all end at the same offset."""
    homes = stream.homes_of(wants)
    for partition in range(stream.partitions):
        if partition not in stream.feeds and (given or homes is None or partition in homes):
            stream.begin(partition, end)
    heads = {
        p: stream.feeds[p].next if p in stream.feeds else end for p in range(stream.partitions)
    }
    new = subscription(stream, wants)
    stream.add(new, heads, given or {})
    return new


def taught(partitions: int = 3) -> Stream:
    """A topic whose producers are known to use murmur2."""
    stream = Stream("t", partitions)
    for key in KEYS:
        stream.observe(key, partition_for_key(key, partitions))
    return stream


def test_until_the_partitioner_is_known_all_partitions_are_read() -> None:
    stream = Stream("t", 3)
    joined(stream, Wants(keys=(KEY,)))
    assert stream.wanted() == {0, 1, 2}


def test_then_only_those_that_can_match() -> None:
    stream = Stream("t", 3)
    one = joined(stream, Wants(keys=(KEY,)))
    for key in KEYS:
        stream.observe(key, partition_for_key(key, 3))
    assert one.homes == frozenset({2})
    assert stream.end_surplus() == [0, 1]
    joined(stream, EVERYTHING)
    assert stream.wanted() == {0, 1, 2}


def test_keys_are_read_where_they_are_put() -> None:
    stream = taught()
    joined(stream, Wants(keys=(KEY,)))
    assert stream.feeds.keys() == {2}
    joined(stream, Wants(keys=tuple(KEYS)))
    assert stream.feeds.keys() == {0, 1, 2}


def test_a_contradiction_sends_everybody_back_to_what_they_left_out() -> None:
    stream = taught()
    one = joined(stream, Wants(keys=(KEY,)), end=100)
    stream.feeds[2].next = 150
    assert stream.observe(b"elsewhere", (partition_for_key(b"elsewhere", 3) + 1) % 3)
    assert stream.missing() == {0, 1}
    stream.begin(0, 170)
    stream.begin(1, 100)
    assert one.lag == {0: 100}
    assert stream.position(one) == {0: 100, 1: 100, 2: 150}


def test_what_was_read_before_the_partitioner_was_known_is_not_read_again() -> None:
    stream = Stream("t", 3)
    one = joined(stream, Wants(keys=(KEY,)), end=100)
    for feed in stream.feeds.values():
        feed.next = 130
    for key in KEYS:
        stream.observe(key, partition_for_key(key, 3))
    stream.end_surplus()
    assert stream.observe(b"x", (partition_for_key(b"x", 3) + 1) % 3)
    stream.begin(0, 200)
    stream.begin(1, 200)
    assert one.lag == {0: 130, 1: 130}


def test_a_partition_that_others_read_meanwhile_is_no_home_until_a_contradiction() -> None:
    stream = taught()
    narrow = joined(stream, Wants(keys=(KEY,)), end=100)
    joined(stream, EVERYTHING, end=120)
    assert stream.position(narrow) == {0: 100, 1: 100, 2: 100}
    assert stream.observe(b"x", (partition_for_key(b"x", 3) + 1) % 3)
    assert narrow.lag == {0: 100, 1: 100}


def test_who_begins_in_the_past_reads_all_partitions_until_it_has_caught_up() -> None:
    stream = taught()
    late = joined(stream, Wants(keys=(KEY,)), given={0: 5, 1: 100, 2: 7})
    assert late.lag == {0: 5, 2: 7}
    assert stream.wanted() == {0, 2}
    assert not stream.catch_up(late, 0)
    assert stream.catch_up(late, 2)
    assert late.lag is None
    assert stream.end_surplus() == [0, 1]


def test_what_was_caught_up_with_outside_of_its_homes_is_not_read_again() -> None:
    stream = taught()
    late = joined(stream, Wants(keys=(KEY,)), given={0: 5, 1: 100, 2: 100})
    assert stream.catch_up(late, 0)
    assert stream.position(late) == {0: 100, 1: 100, 2: 100}
    assert stream.end_surplus() == [0, 1]
    stream.grow(4)
    stream.begin(0, 130)
    assert late.lag == {0: 100}


def test_who_is_ahead_of_the_feed_waits_for_it() -> None:
    stream = Stream("t", 1)
    joined(stream, EVERYTHING)
    ahead = joined(stream, EVERYTHING, given={0: 105})
    assert ahead.lag == {0: 105}


def test_a_topic_that_grows_is_read_from_the_start_of_what_is_new() -> None:
    stream = taught()
    one = joined(stream, Wants(keys=(KEY,)), end=100)
    stream.grow(5)
    assert stream.wanted() == {0, 1, 2, 3, 4}
    stream.begin(3, 0)
    stream.begin(4, 0)
    assert one.lag is None
    stream.begin(0, 110)
    assert one.lag == {0: 100}


def test_a_pause_stays_where_it_is() -> None:
    stream = Stream("t", 2)
    one = joined(stream, EVERYTHING)
    stream.feeds[0].next = 120
    stream.pause(one)
    stream.feeds[0].next = 150
    assert one.lag == {0: 120, 1: 100}
    assert stream.position(one) == {0: 120, 1: 100}


def test_who_leaves_leaves_nothing() -> None:
    stream = taught()
    one = joined(stream, Wants(keys=(KEY,)), given={0: 5, 1: 5, 2: 5})
    two = joined(stream, EVERYTHING)
    stream.remove(one)
    stream.remove(two)
    assert stream.wanted() == set()
    assert stream.lagging == {}
    assert stream.end_surplus() == [0, 1, 2]


def test_many_keys_are_not_narrowed_before_there_are_fewer() -> None:
    stream = Stream("t", 3)
    many = [joined(stream, Wants(keys=(b"%d" % number,))) for number in range(501)]
    for key in KEYS:
        stream.observe(key, partition_for_key(key, 3))
    assert {each.homes for each in many} == {None}
    for each in many[1:]:
        stream.remove(each)
    stream.narrow()
    assert many[0].homes == frozenset({partition_for_key(b"0", 3)})


def test_subscriptions_at_the_head_share_what_they_remember() -> None:
    stream = Stream("t", 3)
    for partition in range(3):
        stream.begin(partition, 100)
    heads = dict.fromkeys(range(3), 100)
    many = [subscription(stream, Wants(keys=(key,))) for key in KEYS]
    for each in many:
        stream.add(each, heads, {})
    for key in KEYS:
        stream.observe(key, partition_for_key(key, 3))
    assert len({id(each.start) for each in many}) == 1
