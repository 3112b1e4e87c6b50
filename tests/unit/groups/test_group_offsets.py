"""Committed offsets: when they are seen, when they are forgotten."""

from tests.unit.groups.driver import Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import StoredGroup
from kafkaesque.groups.group import Group, GroupConfig
from kafkaesque.groups.offsets import CommittedOffset, Offsets, expired, metadata_error
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 0)
RETENTION_MS = 1_000_000


def committed(offset: int, at_ms: int = 0, expire_at_ms: int | None = None) -> CommittedOffset:
    return CommittedOffset(offset, 3, "note", at_ms, expire_at_ms)


def with_commits(at_ms: int, *partitions: TopicPartition) -> Offsets:
    offsets = Offsets()
    offsets.commit(offsets.stage("g", {where: committed(1, at_ms) for where in partitions}))
    return offsets


def test_a_commit_is_seen_once_it_is_durable() -> None:
    offsets = Offsets()
    staged = offsets.stage("g", {ORDERS: committed(5)})
    assert offsets.fetch("g", ORDERS) is None
    assert offsets.has("g")
    offsets.commit(staged)
    assert offsets.fetch("g", ORDERS) == committed(5)
    assert offsets.fetch("g", REFUNDS) is None
    assert offsets.fetch("other", ORDERS) is None


def test_a_commit_that_could_not_be_written_leaves_no_trace() -> None:
    offsets = Offsets()
    offsets.abandon(offsets.stage("g", {ORDERS: committed(5)}))
    assert not offsets.has("g")
    assert offsets.fetch("g", ORDERS) is None


def test_a_later_commit_replaces_an_earlier_one() -> None:
    offsets = Offsets()
    first = offsets.stage("g", {ORDERS: committed(5)})
    second = offsets.stage("g", {ORDERS: committed(6)})
    offsets.commit(first)
    assert offsets.is_staged("g", ORDERS)
    offsets.commit(second)
    assert offsets.fetch("g", ORDERS) == committed(6)
    assert not offsets.is_staged("g", ORDERS)


def test_a_delete_takes_commits_on_their_way_with_it_but_not_later_ones() -> None:
    offsets = Offsets()
    before = offsets.stage("g", {ORDERS: committed(5), REFUNDS: committed(5)})
    assert offsets.delete("g", [ORDERS, TopicPartition("orders", 9)]) == [ORDERS]
    after = offsets.stage("g", {ORDERS: committed(6)})
    offsets.commit(before)
    assert offsets.fetch("g", ORDERS) is None
    assert offsets.fetch("g", REFUNDS) == committed(5)
    offsets.commit(after)
    assert offsets.fetch("g", ORDERS) == committed(6)


def test_deleting_a_topic_takes_its_offsets_out_of_every_group() -> None:
    offsets = with_commits(0, ORDERS, REFUNDS)
    offsets.load("h", TopicPartition("orders", 7), committed(1))
    on_its_way = offsets.stage("i", {ORDERS: committed(1)})
    assert offsets.delete_topic("orders") == [
        ("g", ORDERS),
        ("h", TopicPartition("orders", 7)),
        ("i", ORDERS),
    ]
    offsets.commit(on_its_way)
    assert offsets.group_ids() == ["g"]
    assert offsets.of_group("g").keys() == {REFUNDS}


def test_metadata_is_limited_in_length() -> None:
    assert metadata_error("x" * 4096) is ErrorCode.NONE
    assert metadata_error("x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert metadata_error(None) is ErrorCode.NONE
    assert metadata_error("xy", limit=1) is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_offsets_of_a_group_without_members_expire_after_their_commit() -> None:
    driver = Driver()
    offsets = with_commits(100, ORDERS)
    assert expired(driver.group, offsets, 99 + RETENTION_MS, RETENTION_MS) == []
    assert expired(driver.group, offsets, 100 + RETENTION_MS, RETENTION_MS) == [ORDERS]


def test_offsets_of_an_emptied_group_expire_after_the_last_member_left() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    offsets = with_commits(0, ORDERS)
    driver.wait(5_000)
    driver.leave(member)
    left = driver.now
    assert expired(driver.group, offsets, left + RETENTION_MS - 1, RETENTION_MS) == []
    assert expired(driver.group, offsets, left + RETENTION_MS, RETENTION_MS) == [ORDERS]


def test_an_emptied_group_that_does_not_say_since_when_goes_by_the_commit() -> None:
    group = Group.restore("g", GroupConfig(), StoredGroup(3, "consumer", None, None, -1), 0)
    offsets = with_commits(100, ORDERS)
    assert expired(group, offsets, 99 + RETENTION_MS, RETENTION_MS) == []
    assert expired(group, offsets, 100 + RETENTION_MS, RETENTION_MS) == [ORDERS]


def test_a_stable_group_keeps_what_it_subscribes_to_and_forgets_the_rest() -> None:
    driver = Driver()
    driver.stable("a", protocols=(("range", subscription("orders")),))
    offsets = with_commits(0, ORDERS, REFUNDS)
    assert expired(driver.group, offsets, RETENTION_MS - 1, RETENTION_MS) == []
    assert expired(driver.group, offsets, RETENTION_MS, RETENTION_MS) == [REFUNDS]


def test_a_group_that_rebalances_keeps_everything() -> None:
    driver = Driver()
    driver.join(protocols=(("range", subscription("orders")),))
    offsets = with_commits(0, REFUNDS)
    assert expired(driver.group, offsets, RETENTION_MS, RETENTION_MS) == []


def test_a_group_whose_subscriptions_cannot_be_read_keeps_everything() -> None:
    driver = Driver()
    driver.stable("a", protocols=(("range", b"?"),))
    assert expired(driver.group, with_commits(0, REFUNDS), RETENTION_MS, RETENTION_MS) == []


def test_workers_of_another_protocol_type_keep_everything_while_they_work() -> None:
    driver = Driver()
    driver.stable("a", protocol_type="connect", protocols=(("sessioned", b""),))
    assert expired(driver.group, with_commits(0, REFUNDS), RETENTION_MS, RETENTION_MS) == []


def test_a_partition_with_a_commit_on_its_way_does_not_expire() -> None:
    driver = Driver()
    offsets = with_commits(0, ORDERS, REFUNDS)
    offsets.stage("g", {ORDERS: committed(2)})
    assert expired(driver.group, offsets, RETENTION_MS, RETENTION_MS) == [REFUNDS]


def test_a_commit_may_bring_its_own_time_to_expire() -> None:
    driver = Driver()
    offsets = Offsets()
    offsets.load("g", ORDERS, committed(1, at_ms=0, expire_at_ms=50))
    offsets.load("g", REFUNDS, committed(1, at_ms=0, expire_at_ms=RETENTION_MS * 9))
    assert expired(driver.group, offsets, 49, RETENTION_MS) == []
    assert expired(driver.group, offsets, 50, RETENTION_MS) == [ORDERS]
    assert expired(driver.group, offsets, RETENTION_MS, RETENTION_MS) == [ORDERS]
