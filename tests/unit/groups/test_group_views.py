"""What is shown of a group, which topics it reads, and how it comes back after a restart."""

import struct
from dataclasses import replace

import pytest
from tests.unit.groups.driver import RANGE, SESSION_MS, Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import State
from kafkaesque.groups.group import Group, GroupConfig
from kafkaesque.groups.subscription import subscribed_topics
from kafkaesque.groups.views import GroupDescription, MemberDescription

CONNECT = {"protocol_type": "connect", "protocols": (("sessioned", b"\x01"),)}


def restored(driver: Driver, **config: int) -> Driver:
    """The same group, as a broker finds it after a restart."""
    settings = GroupConfig(**{"initial_rebalance_delay_ms": 0, **config})
    return Driver(Group.restore("g", settings, driver.stored[-1], driver.moment()))


def test_a_stable_group_shows_its_members_with_metadata_and_assignment() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    shown = MemberDescription(member, None, "a", "/127.0.0.1", RANGE[0][1], member.encode())
    assert driver.group.describe() == GroupDescription(
        "g", State.STABLE, "consumer", "range", (shown,)
    )


def test_a_rebalancing_group_shows_its_members_without_metadata() -> None:
    driver = Driver()
    member = driver.join(client_id="a").member_id
    shown = MemberDescription(member, None, "a", "/127.0.0.1", b"", b"")
    assert driver.group.describe() == GroupDescription(
        "g", State.COMPLETING_REBALANCE, "consumer", "", (shown,)
    )


def test_states_are_spelled_as_kafka_spells_them() -> None:
    assert [state.value for state in State] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]


def test_subscribed_topics_are_those_of_all_members() -> None:
    driver = Driver()
    first = driver.join(protocols=(("range", subscription("a", "b")),)).member_id
    driver.send_join(protocols=(("range", subscription("b", "c")),))
    driver.join(first, protocols=(("range", subscription("a", "b")),))
    assert driver.group.subscribed_topics == frozenset({"a", "b", "c"})
    assert driver.group.is_subscribed_to("c")
    assert not driver.group.is_subscribed_to("d")


def test_later_versions_of_the_subscription_are_read_as_far_as_they_are_known() -> None:
    later = struct.pack(">h", 3) + subscription("a")[2:] + b"owned partitions and more"
    assert subscribed_topics([later]) == frozenset({"a"})


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        b"\x00\x00\x00",
        struct.pack(">hi", 0, 1),
        struct.pack(">hih", 0, 1, 5) + b"abc",
        struct.pack(">hih", 0, 1, -1),
        struct.pack(">hih", 0, 1, 1) + b"\xff",
        struct.pack(">hi", 0, 2**31 - 1),
    ],
    ids=bytes.hex,
)
def test_metadata_that_is_not_a_subscription_says_nothing(metadata: bytes) -> None:
    assert subscribed_topics([subscription("a"), metadata]) is None


def test_a_consumer_group_that_does_not_say_may_read_anything() -> None:
    driver = Driver()
    driver.join(protocols=(("range", b"?"),))
    assert driver.group.subscribed_topics is None
    assert driver.group.is_subscribed_to("anything")


def test_a_group_of_another_protocol_type_subscribes_to_nothing() -> None:
    driver = Driver()
    driver.stable("worker", **CONNECT)
    assert not driver.group.is_subscribed_to("anything")


def test_offsets_of_workers_cannot_be_deleted_while_they_work() -> None:
    driver = Driver()
    assert driver.group.offset_delete_error() is ErrorCode.NONE
    (worker,) = driver.stable("worker", **CONNECT)
    assert driver.group.offset_delete_error() is ErrorCode.NON_EMPTY_GROUP
    driver.leave(worker)
    assert driver.group.offset_delete_error() is ErrorCode.NONE
    driver.delete()
    assert driver.group.offset_delete_error() is ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_consumers_can_be_deleted_topic_by_topic() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    assert driver.group.offset_delete_error() is ErrorCode.NONE
    assert driver.group.is_subscribed_to("orders")
    driver.leave(member)
    assert not driver.group.is_subscribed_to("orders")


def test_members_go_on_after_a_restart_as_if_nothing_had_happened() -> None:
    before = Driver()
    leader, follower = before.stable("a", "b")
    after = restored(before)
    assert after.group.describe() == before.group.describe()
    assert after.group.subscribed_topics == frozenset({"orders"})
    assert after.heartbeat(leader) is ErrorCode.NONE
    assert after.sync(follower).assignment == follower.encode()
    assert after.group.leader == leader


def test_members_have_a_whole_session_after_a_restart() -> None:
    before = Driver()
    before.stable("a")
    before.now += 1_000_000
    after = restored(before)
    after.now = before.now
    after.wait(SESSION_MS - 1)
    assert after.state() is State.STABLE
    after.wait(1)
    assert after.state() is State.EMPTY


def test_generations_go_on_growing_after_a_restart() -> None:
    before = Driver()
    leader, _ = before.stable("a", "b")
    after = restored(before)
    after.leave(leader)
    assert after.group.generation == 2
    after.wait(SESSION_MS)
    assert after.group.generation == 3


def test_an_empty_group_is_empty_after_a_restart_too() -> None:
    before = Driver()
    (member,) = before.stable("a")
    before.leave(member)
    after = restored(before)
    assert after.state() is State.EMPTY
    assert after.group.state_since_ms == before.now
    assert after.join().generation == 3


def test_a_group_that_is_too_large_after_a_restart_rebalances() -> None:
    before = Driver()
    before.stable("a", "b")
    assert restored(before, max_size=2).state() is State.STABLE
    assert restored(before, max_size=1).state() is State.PREPARING_REBALANCE


def test_a_group_that_was_stored_with_too_many_members_goes_on_with_the_first_to_rejoin() -> None:
    before = Driver()
    members = before.stable("a", "b", "c")
    after = restored(before, max_size=2)
    tokens = [after.send_join(member) for member in members]
    assert after.join_reply(tokens[2]).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    told = after.join_reply(tokens[0])
    assert [member.member_id for member in told.members] == members[:2]
    after.sync(members[0], assignments=dict.fromkeys(members[:2], b"A"))
    assert after.sync(members[1]).assignment == b"A"
    assert after.heartbeat(members[2]) is ErrorCode.UNKNOWN_MEMBER_ID


def test_so_does_a_group_of_static_members() -> None:
    before = Driver()
    before.static("i1", "i2", "i3")
    after = restored(before, max_size=2)
    tokens = [after.send_join(group_instance_id=name) for name in ("i1", "i2", "i3")]
    assert after.join_reply(tokens[2]).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    after.wait(SESSION_MS)
    assert after.join_reply(tokens[0]).generation == before.group.generation + 1
    assert len(after.group.roster) == 2


def test_the_stored_leader_leads_on_unless_it_is_no_member() -> None:
    before = Driver()
    first, second = before.stable("a", "b")
    for stored_leader, leader in [(first, first), (second, second), ("gone", first)]:
        stored = replace(before.stored[-1], leader=stored_leader)
        assert Group.restore("g", GroupConfig(), stored, before.moment()).leader == leader


def test_a_group_is_vacant_until_something_comes_of_it() -> None:
    driver = Driver()
    assert driver.group.is_vacant
    driver.join(require_known_member_id=True)
    assert not driver.group.is_vacant
