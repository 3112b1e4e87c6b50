"""Committed offsets: when they are seen, when they are forgotten."""

from tests.unit.groups.driver import Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.committed import Offsets, Staged
from kafkaesque.groups.events import StoredGroup
from kafkaesque.groups.expiry import is_expired
from kafkaesque.groups.group import Group, GroupConfig
from kafkaesque.groups.offsets import CommittedOffset, metadata_error
from kafkaesque.groups.records import offset_record
from kafkaesque.types import Moment, TopicPartition

ORDERS = TopicPartition("orders", 0)
REFUNDS = TopicPartition("refunds", 0)
RETENTION_MS = 1_000_000


def committed(offset: int, at_ms: int = 0, expire_at_ms: int | None = None) -> CommittedOffset:
    return CommittedOffset(offset, 3, "note", at_ms, expire_at_ms)


def encoded(offset: CommittedOffset) -> bytes:
    return offset_record("", ORDERS, offset)[1]


def stage(
    offsets: Offsets, group_id: str, commits: dict[TopicPartition, CommittedOffset], at: int = 0
) -> Staged:
    return offsets.stage(group_id, {name: encoded(what) for name, what in commits.items()}, at)


def with_commits(at_ms: int, *partitions: TopicPartition) -> Offsets:
    offsets = Offsets()
    offsets.commit(stage(offsets, "g", {where: committed(1, at_ms) for where in partitions}))
    return offsets


def test_a_commit_is_seen_once_it_is_durable() -> None:
    offsets = Offsets()
    staged = stage(offsets, "g", {ORDERS: committed(5)})
    assert offsets.fetch("g", ORDERS) is None
    assert offsets.has("g")
    offsets.commit(staged)
    assert offsets.fetch("g", ORDERS) == committed(5)
    assert offsets.fetch("g", REFUNDS) is None
    assert offsets.fetch("other", ORDERS) is None


def test_a_commit_that_could_not_be_written_leaves_no_trace() -> None:
    offsets = Offsets()
    offsets.abandon(stage(offsets, "g", {ORDERS: committed(5)}))
    assert not offsets.has("g")
    assert offsets.fetch("g", ORDERS) is None


def test_a_later_commit_replaces_an_earlier_one() -> None:
    offsets = Offsets()
    first = stage(offsets, "g", {ORDERS: committed(5)}, at=0)
    second = stage(offsets, "g", {ORDERS: committed(6)}, at=1)
    offsets.commit(first)
    assert offsets.is_staged("g", ORDERS)
    offsets.commit(second)
    assert offsets.fetch("g", ORDERS) == committed(6)
    assert not offsets.is_staged("g", ORDERS)


def test_a_delete_takes_commits_on_their_way_with_it_but_not_later_ones() -> None:
    offsets = Offsets()
    before = stage(offsets, "g", {ORDERS: committed(5), REFUNDS: committed(5)})
    deletion = offsets.stage("g", {ORDERS: None}, at=1)
    after = stage(offsets, "g", {ORDERS: committed(6)}, at=2)
    offsets.commit(before)
    assert offsets.fetch("g", ORDERS) == committed(5)
    offsets.commit(deletion)
    assert offsets.fetch("g", ORDERS) is None
    assert offsets.fetch("g", REFUNDS) == committed(5)
    offsets.commit(after)
    assert offsets.fetch("g", ORDERS) == committed(6)


def test_what_is_known_of_a_topic_is_committed_or_on_its_way() -> None:
    offsets = with_commits(0, ORDERS, REFUNDS)
    stage(offsets, "g", {TopicPartition("orders", 7): committed(1)})
    assert offsets.known("g", "orders") == {ORDERS, TopicPartition("orders", 7)}
    assert offsets.known("g") == {ORDERS, TopicPartition("orders", 7), REFUNDS}
    assert offsets.known("g", "unknown") == offsets.known("unknown") == set()


def test_the_topics_that_somebody_has_an_offset_of() -> None:
    offsets = with_commits(0, ORDERS)
    stage(offsets, "h", {REFUNDS: committed(1)})
    assert offsets.all_topics() == {"orders", "refunds"}
    assert offsets.topics("g") == ["orders"]
    assert offsets.topics("h") == []
    assert Offsets().all_topics() == set()


def test_the_groups_that_may_have_an_offset_of_a_topic() -> None:
    offsets = with_commits(0, ORDERS)
    on_its_way = stage(offsets, "h", {REFUNDS: committed(1)})
    assert offsets.may_have("orders") == ["g", "h"]
    assert offsets.may_have("refunds") == ["h"]
    offsets.abandon(on_its_way)
    assert offsets.may_have("refunds") == []
    offsets.commit(offsets.stage("g", {ORDERS: None}, at=1))
    assert offsets.may_have("orders") == []


def test_a_group_whose_last_offset_is_deleted_is_gone() -> None:
    offsets = with_commits(0, ORDERS)
    stage(offsets, "g", {ORDERS: committed(2)})
    deletion = offsets.stage("g", {ORDERS: None}, at=1)
    assert offsets.has("g")
    offsets.commit(deletion)
    assert not offsets.has("g")
    assert offsets.group_ids() == []
    assert offsets.partitions("g") == []


def test_a_deletion_that_is_abandoned_has_deleted_nothing() -> None:
    offsets = with_commits(0, ORDERS)
    on_its_way = stage(offsets, "g", {REFUNDS: committed(2)}, at=1)
    deletion = offsets.stage("g", {ORDERS: None, REFUNDS: None}, at=2)
    offsets.abandon(deletion)
    offsets.commit(on_its_way)
    assert offsets.of_group("g") == {ORDERS: committed(1), REFUNDS: committed(2)}


def test_what_a_deletion_has_to_undo_is_committed_or_on_its_way() -> None:
    offsets = with_commits(0, ORDERS)
    stage(offsets, "g", {REFUNDS: committed(2)}, at=1)
    offsets.stage("g", {ORDERS: None, TopicPartition("orders", 9): None}, at=2)
    assert offsets.is_known("g", ORDERS)
    assert offsets.is_known("g", REFUNDS)
    assert not offsets.is_known("g", TopicPartition("orders", 9))
    assert not offsets.is_known("h", ORDERS)


def test_the_offsets_of_a_group_by_partition() -> None:
    offsets = with_commits(0, ORDERS, REFUNDS)
    assert offsets.partitions("g") == [ORDERS, REFUNDS]
    assert offsets.of_group("g") == {ORDERS: committed(1), REFUNDS: committed(1)}
    assert offsets.of_group("g", "refunds") == {REFUNDS: committed(1)}
    assert offsets.of_group("g", "unknown") == offsets.of_group("h") == {}


def test_metadata_is_limited_in_length() -> None:
    assert metadata_error("x" * 4096) is ErrorCode.NONE
    assert metadata_error("x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert metadata_error(None) is ErrorCode.NONE
    assert metadata_error("xy", limit=1) is ErrorCode.OFFSET_METADATA_TOO_LARGE


def expired(group: Group, offsets: Offsets, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    names = offsets.partitions(group.group_id)
    return [name for name in names if is_expired(group, offsets, name, now_ms, retention_ms)]


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
    group = Group.restore(
        "g", GroupConfig(), StoredGroup(3, "consumer", None, None, -1), Moment(0, 0)
    )
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
    stage(offsets, "g", {ORDERS: committed(2)})
    assert expired(driver.group, offsets, RETENTION_MS, RETENTION_MS) == [REFUNDS]


def test_a_commit_may_bring_its_own_time_to_expire() -> None:
    driver = Driver()
    offsets = Offsets()
    offsets.load("g", ORDERS, encoded(committed(1, at_ms=0, expire_at_ms=50)))
    offsets.load("g", REFUNDS, encoded(committed(1, at_ms=0, expire_at_ms=RETENTION_MS * 9)))
    assert expired(driver.group, offsets, 49, RETENTION_MS) == []
    assert expired(driver.group, offsets, 50, RETENTION_MS) == [ORDERS]
    assert expired(driver.group, offsets, RETENTION_MS, RETENTION_MS) == [ORDERS]
