"""SyncGroup and Heartbeat: assignments are stored, then handed out; stale requests are refused."""

from typing import Any

import pytest
from tests.unit.groups.driver import REBALANCE_MS, SESSION_MS, Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import State, Store, Sync, SyncReply


def two_joined(driver: Driver, **fields: Any) -> tuple[str, str]:
    """Leader and follower of generation 2, neither of which has synced."""
    leader = driver.join(client_id="a", **fields).member_id
    token = driver.send_join(client_id="b", **fields)
    driver.join(leader, **fields)
    return leader, driver.join_reply(token).member_id


def test_followers_wait_for_the_leaders_assignment() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    waiting = driver.send_sync(follower)
    assert waiting not in driver.answers
    assert driver.sync(leader, assignments={leader: b"L", follower: b"F"}).assignment == b"L"
    assert driver.sync_reply(waiting).assignment == b"F"
    assert driver.state() is State.STABLE


def test_the_assignment_is_stored_before_anybody_is_told() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    driver.send_sync(follower)
    event = Sync(driver.token(), 2, leader, assignments={leader: b"L", follower: b"F"})
    effects = driver.handle(event)
    assert [type(effect) for effect in effects] == [Store, SyncReply, SyncReply]
    (stored,) = driver.stored
    assert (stored.generation, stored.leader, stored.protocol_name) == (2, leader, "range")
    assert {m.member_id: m.assignment for m in stored.members} == {leader: b"L", follower: b"F"}


def test_a_follower_that_syncs_late_is_given_its_assignment() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    driver.sync(leader, assignments={follower: b"F"})
    reply = driver.sync(follower)
    assert (reply.assignment, reply.protocol_type, reply.protocol_name) == (
        b"F",
        "consumer",
        "range",
    )


def test_a_member_that_the_leader_forgot_has_an_empty_assignment() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    driver.sync(leader, assignments={leader: b"L"})
    assert driver.sync(follower) == SyncReply(
        max(driver.asked), ErrorCode.NONE, "consumer", "range", b""
    )


def test_assignments_from_a_follower_are_ignored() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    driver.send_sync(follower, assignments={leader: b"X", follower: b"X"})
    assert driver.sync(leader, assignments={leader: b"L"}).assignment == b"L"


def test_a_sync_that_is_sent_twice_answers_the_first_one_too() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    lost, kept = driver.send_sync(follower), driver.send_sync(follower)
    assert driver.answers[lost].error is ErrorCode.REBALANCE_IN_PROGRESS
    driver.sync(leader, assignments={follower: b"F"})
    assert driver.sync_reply(kept).assignment == b"F"


@pytest.mark.parametrize("generation", [-1, 1, 3])
def test_another_generation_is_refused(generation: int) -> None:
    driver = Driver()
    leader, _ = two_joined(driver)
    assert driver.sync(leader, generation).error is ErrorCode.ILLEGAL_GENERATION
    assert driver.heartbeat(leader, generation) is ErrorCode.ILLEGAL_GENERATION


def test_a_stranger_is_refused() -> None:
    driver = Driver()
    two_joined(driver)
    assert driver.sync("x").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat("x") is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_knows_nobody() -> None:
    driver = Driver()
    assert driver.sync("x").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat("x") is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    "fields", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}], ids=str
)
def test_a_sync_for_another_protocol_is_refused(fields: dict[str, Any]) -> None:
    driver = Driver()
    leader, _ = two_joined(driver)
    assert driver.sync(leader, **fields).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    driver.sync(leader)
    assert driver.sync(leader, **fields).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_for_the_chosen_protocol_is_accepted() -> None:
    driver = Driver()
    leader, _ = two_joined(driver)
    reply = driver.sync(leader, protocol_type="consumer", protocol_name="range")
    assert reply.error is ErrorCode.NONE


def test_a_rebalance_sends_waiting_followers_back_to_join() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    waiting = driver.send_sync(follower)
    driver.send_join(leader, protocols=(("range", subscription("refunds")),))
    assert driver.answers[waiting].error is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.sync(leader).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_never_sync_are_removed_after_the_rebalance_timeout() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 600_000}
    leader, follower = two_joined(driver, **fields)
    driver.sync(leader, assignments={leader: b"L"})
    driver.wait(REBALANCE_MS - 1)
    assert driver.state() is State.STABLE
    driver.wait(1)
    assert driver.state() is State.PREPARING_REBALANCE
    assert driver.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID
    assert [m.member_id for m in driver.join(leader, **fields).members] == [leader]


def test_a_member_may_miss_its_session_and_its_sync_at_once() -> None:
    driver = Driver()
    leader, _ = two_joined(driver, rebalance_timeout_ms=SESSION_MS)
    driver.sync(leader)
    driver.wait(SESSION_MS)
    assert driver.state() is State.EMPTY


def test_a_leader_that_never_syncs_is_removed_and_followed() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 600_000}
    leader, follower = two_joined(driver, **fields)
    waiting = driver.send_sync(follower)
    driver.wait(REBALANCE_MS)
    assert driver.answers[waiting].error is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.join(follower, **fields).leader == follower


def test_once_all_have_synced_the_sync_timeout_is_off() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 600_000}
    driver.stable("a", "b", **fields)
    assert driver.group.next_deadline() == driver.now + 600_000
    driver.wait(REBALANCE_MS)
    assert driver.state() is State.STABLE


def test_heartbeats_keep_a_session_alive() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    for _ in range(5):
        driver.wait(SESSION_MS - 1)
        assert driver.heartbeat(member) is ErrorCode.NONE


def test_heartbeats_are_fine_while_the_leader_assigns() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    driver.wait(SESSION_MS - 1)
    assert driver.heartbeat(leader) is ErrorCode.NONE
    assert driver.heartbeat(follower) is ErrorCode.NONE
    driver.wait(SESSION_MS - 1)
    assert driver.heartbeat(leader) is ErrorCode.NONE


def test_a_session_without_heartbeats_expires_and_the_rest_rebalances() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    driver.wait(SESSION_MS - 1)
    driver.heartbeat(leader)
    driver.wait(1)
    assert driver.state() is State.PREPARING_REBALANCE
    assert driver.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID
    assert [m.member_id for m in driver.join(leader).members] == [leader]


def test_when_the_last_session_expires_the_empty_group_is_stored() -> None:
    driver = Driver()
    driver.stable("a")
    driver.wait(SESSION_MS)
    assert driver.state() is State.EMPTY
    assert (driver.stored[-1].generation, driver.stored[-1].members) == (2, ())
    assert driver.group.next_deadline() is None


def test_a_member_that_waits_in_a_join_does_not_expire() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    token = driver.send_join(leader)
    for _ in range(4):
        driver.wait(SESSION_MS - 1)
        driver.heartbeat(follower)
    assert token not in driver.answers
    assert driver.join(follower).error is ErrorCode.NONE
    assert driver.join_reply(token).error is ErrorCode.NONE


def test_a_member_that_waits_in_a_sync_does_not_expire() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    waiting = driver.send_sync(follower)
    driver.wait(SESSION_MS - 1)
    driver.heartbeat(leader)
    driver.wait(SESSION_MS - 1)
    driver.sync(leader, assignments={follower: b"F"})
    assert driver.sync_reply(waiting).assignment == b"F"
    driver.wait(SESSION_MS - 1)
    assert driver.heartbeat(follower) is ErrorCode.NONE


def test_the_next_deadline_is_the_first_thing_that_is_due() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    assert driver.group.next_deadline() == driver.now + SESSION_MS
    driver.wait(1_000)
    driver.heartbeat(member)
    assert driver.group.next_deadline() == driver.now + SESSION_MS


def test_a_late_sync_keeps_the_session_alive() -> None:
    driver = Driver()
    leader, follower = two_joined(driver)
    driver.sync(leader)
    driver.wait(SESSION_MS - 1)
    driver.heartbeat(leader)
    driver.sync(follower)
    driver.wait(SESSION_MS - 1)
    assert driver.heartbeat(follower) is ErrorCode.NONE
