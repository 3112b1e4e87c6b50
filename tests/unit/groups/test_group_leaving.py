"""LeaveGroup, DeleteGroups, OffsetCommit's check, and the end of a group."""

import pytest
from tests.unit.groups.driver import RANGE, SESSION_MS, Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import (
    CheckCommit,
    Delete,
    Event,
    Expire,
    Heartbeat,
    Join,
    Leave,
    Leaving,
    Removed,
    State,
    Store,
    Sync,
    Tick,
)


def test_a_member_that_leaves_is_gone_at_once_and_the_rest_rebalances() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    assert driver.leave(follower) == [ErrorCode.NONE]
    assert driver.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert [m.member_id for m in driver.join(leader).members] == [leader]


def test_when_the_leader_leaves_another_member_leads() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    driver.leave(leader)
    assert driver.join(follower).leader == follower


def test_when_the_last_member_leaves_the_empty_group_is_stored_first() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    effects = driver.handle(Leave(driver.token(), (Leaving(member),)))
    assert isinstance(effects[0], Store)
    assert driver.state() is State.EMPTY
    stored = driver.stored[-1]
    assert (stored.generation, stored.protocol_name, stored.leader) == (2, None, None)
    assert (stored.protocol_type, stored.state_since_ms) == ("consumer", driver.now)


def test_several_members_leave_at_once_and_each_has_its_own_result() -> None:
    driver = Driver()
    first, second, third = driver.stable("a", "b", "c")
    assert driver.leave(second, "x", third) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
    ]
    assert list(driver.group.roster.members) == [first]


def test_leaving_without_any_id_is_refused() -> None:
    driver = Driver()
    driver.stable("a")
    assert driver.leave("") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert driver.state() is State.STABLE


def test_a_member_that_leaves_while_it_waits_is_answered() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    joining = driver.send_join(leader)
    driver.leave(leader)
    assert driver.answers[joining].error is ErrorCode.UNKNOWN_MEMBER_ID
    driver.join(follower)
    newcomer = driver.send_join()
    driver.join(follower)
    syncing = driver.send_sync(driver.join_reply(newcomer).member_id)
    driver.leave(driver.join_reply(newcomer).member_id)
    assert driver.answers[syncing].error is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_last_one_missing_leaves_and_the_join_completes() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    token = driver.send_join(leader)
    driver.leave(follower)
    assert [m.member_id for m in driver.join_reply(token).members] == [leader]


def test_a_client_that_was_told_its_id_may_leave_without_having_joined() -> None:
    driver = Driver()
    driver.stable("a")
    told = driver.join(require_known_member_id=True)
    assert driver.leave(told.member_id) == [ErrorCode.NONE]
    assert driver.state() is State.STABLE
    assert driver.join(told.member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_only_an_empty_group_can_be_deleted() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    assert driver.delete() is ErrorCode.NON_EMPTY_GROUP
    driver.leave(member)
    assert driver.delete() is ErrorCode.NONE
    assert driver.removed
    assert driver.state() is State.DEAD
    assert driver.delete() is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_deleted_group_is_removed_before_the_answer() -> None:
    driver = Driver()
    effects = driver.handle(Delete(driver.token()))
    assert isinstance(effects[0], Removed)


def test_a_deleted_group_has_nothing_left_to_wait_for() -> None:
    driver = Driver()
    driver.join(require_known_member_id=True)
    driver.delete()
    assert driver.group.next_deadline() is None


def test_a_group_without_offsets_expires_once_it_is_empty() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    driver.handle(Expire())
    assert driver.state() is State.STABLE
    driver.leave(member)
    driver.handle(Expire())
    assert driver.removed


def test_a_group_that_somebody_is_about_to_join_does_not_expire() -> None:
    driver = Driver()
    told = driver.join(require_known_member_id=True)
    driver.handle(Expire())
    assert not driver.removed
    assert driver.join(told.member_id).error is ErrorCode.NONE


def test_a_dead_group_sends_everybody_to_look_for_the_coordinator_again() -> None:
    driver = Driver()
    driver.delete()
    events: list[Event] = [
        Join(driver.token(), "", None, "c", "/h", "consumer", RANGE, SESSION_MS, 0),
        Sync(driver.token(), 1, "m"),
        Heartbeat(driver.token(), 1, "m"),
        Leave(driver.token(), (Leaving("m"),)),
        CheckCommit(driver.token(), -1, ""),
    ]
    for event in events:
        driver.handle(event)
    assert len(driver.answers) == 6
    errors = {driver.answers[token].error for token in range(2, 7)}
    assert errors == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert driver.handle(Tick()) == []


def test_a_group_without_members_keeps_offsets_for_anybody_without_a_generation() -> None:
    driver = Driver()
    assert driver.check_commit() is ErrorCode.NONE
    assert driver.check_commit("somebody") is ErrorCode.NONE
    assert driver.check_commit("somebody", 0) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.check_commit("somebody", 3) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_with_members_keeps_offsets_for_members_only() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    assert driver.check_commit() is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.check_commit("x", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.check_commit(member, -1) is ErrorCode.ILLEGAL_GENERATION
    assert driver.check_commit(member, 0) is ErrorCode.ILLEGAL_GENERATION
    assert driver.check_commit(member, 1) is ErrorCode.NONE


def test_a_member_may_commit_until_it_has_joined_the_next_generation() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    driver.send_join(leader)
    assert driver.check_commit(follower, 2) is ErrorCode.NONE
    driver.join(follower)
    assert driver.check_commit(follower, 2) is ErrorCode.ILLEGAL_GENERATION
    assert driver.check_commit(follower, 3) is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("rebalancing", [False, True])
def test_a_commit_keeps_the_session_alive(rebalancing: bool) -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    if rebalancing:
        driver.send_join(leader, protocols=(("range", subscription("refunds")),))
    driver.wait(SESSION_MS - 1)
    driver.check_commit(follower, 2)
    driver.wait(SESSION_MS - 1)
    assert follower in driver.group.roster.members
    driver.wait(1)
    assert follower not in driver.group.roster.members
