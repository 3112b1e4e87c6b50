"""Static members (KIP-345): they come back under their instance id, and nobody else notices."""

from typing import Any

from tests.unit.groups.driver import RANGE, REBALANCE_MS, SESSION_MS, Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import Join, JoinReply, Leaving, State, Store


def test_a_restarted_member_has_its_assignment_back_without_a_rebalance() -> None:
    driver = Driver()
    _, old = driver.static("i1", "i2")
    generation = driver.group.generation
    reply = driver.join(group_instance_id="i2")
    assert reply.error is ErrorCode.NONE
    assert reply.member_id not in ("", old)
    assert reply.generation == generation
    assert driver.state() is State.STABLE
    assert driver.sync(reply.member_id, group_instance_id="i2").assignment == old.encode()


def test_the_new_id_is_stored_before_it_is_told() -> None:
    driver = Driver()
    driver.static("i1", "i2")
    timeouts = (SESSION_MS, REBALANCE_MS)
    token = driver.token()
    effects = driver.handle(Join(token, "", "i2", "c", "/h", "consumer", RANGE, *timeouts))
    assert [type(effect) for effect in effects] == [Store, JoinReply]
    ids = {m.group_instance_id: m.member_id for m in driver.stored[-1].members}
    assert ids["i2"] == driver.join_reply(token).member_id


def test_the_old_id_is_fenced() -> None:
    driver = Driver()
    _, old = driver.static("i1", "i2")
    driver.join(group_instance_id="i2")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert driver.heartbeat(old, instance_id="i2") is fenced
    assert driver.sync(old, group_instance_id="i2").error is fenced
    assert driver.join(old, group_instance_id="i2").error is fenced
    assert driver.check_commit(old, driver.group.generation, "i2") is fenced
    assert driver.leave(Leaving(old, "i2")) == [fenced]


def test_an_instance_id_that_nobody_has_is_unknown() -> None:
    driver = Driver()
    (member,) = driver.static("i1")
    assert driver.heartbeat(member, instance_id="i9") is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.join("i9-1", group_instance_id="i9").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_restarted_leader_is_told_to_skip_the_assignment() -> None:
    driver = Driver()
    driver.static("i1", "i2")
    reply = driver.join(group_instance_id="i1", supports_skipping_assignment=True)
    assert reply.leader == reply.member_id
    assert reply.skip_assignment
    assert len(reply.members) == 2


def test_a_restarted_leader_that_cannot_skip_does_not_learn_that_it_leads() -> None:
    driver = Driver()
    old, _ = driver.static("i1", "i2")
    reply = driver.join(group_instance_id="i1")
    assert reply.leader == old != reply.member_id
    assert not reply.skip_assignment
    assert reply.members == ()


def test_a_restarted_follower_is_told_the_leader_and_nothing_to_skip() -> None:
    driver = Driver()
    leader, _ = driver.static("i1", "i2")
    reply = driver.join(group_instance_id="i2", supports_skipping_assignment=True)
    assert (reply.leader, reply.skip_assignment, reply.members) == (leader, False, ())


def test_a_restarted_member_that_changes_the_vote_starts_a_rebalance() -> None:
    driver = Driver()
    both = (*RANGE, ("sticky", subscription("orders")))
    driver.static("i1", protocols=both)
    reply = driver.join(group_instance_id="i1", protocols=both[::-1])
    assert (reply.generation, reply.protocol_name) == (2, "sticky")


def test_a_member_restarted_while_the_leader_assigns_starts_the_rebalance_over() -> None:
    driver = Driver()
    driver.join(group_instance_id="i1")
    assert driver.state() is State.COMPLETING_REBALANCE
    reply = driver.join(group_instance_id="i1")
    assert reply.generation == 2
    assert [m.member_id for m in reply.members] == [reply.member_id]


def test_a_member_restarted_while_it_waits_in_a_join_fences_its_double() -> None:
    driver = Driver(initial_rebalance_delay_ms=1_000)
    double = driver.send_join(group_instance_id="i1")
    token = driver.send_join(group_instance_id="i1")
    assert driver.answers[double].error is ErrorCode.FENCED_INSTANCE_ID
    driver.wait(1_000)
    assert driver.join_reply(token).generation == 1


def test_a_member_restarted_while_it_waits_in_a_sync_fences_its_double() -> None:
    driver = Driver()
    leader, follower = driver.static("i1", "i2")
    driver.send_join(leader, group_instance_id="i1")
    driver.join(follower, group_instance_id="i2")
    double = driver.send_sync(follower, group_instance_id="i2")
    driver.send_join(group_instance_id="i2")
    assert driver.answers[double].error is ErrorCode.FENCED_INSTANCE_ID


def test_a_member_that_does_not_rejoin_in_time_is_kept_until_its_session_ends() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 100_000, "rebalance_timeout_ms": 30_000}
    leader, absent = driver.static("i1", "i2", **fields)
    token = driver.send_join(leader, group_instance_id="i1", **fields)
    driver.wait(30_000)
    assert {m.member_id for m in driver.join_reply(token).members} == {leader, absent}
    assert driver.heartbeat(absent, instance_id="i2") is ErrorCode.NONE


def test_a_join_that_only_absent_members_could_complete_waits_for_their_sessions() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 100_000, "rebalance_timeout_ms": 30_000}
    leader, absent = driver.static("i1", "i2", **fields)
    token = driver.send_join(client_id="dynamic", **fields)
    newcomer = next(m for m in driver.group.roster.members.values() if not m.is_static)
    assert driver.leave(newcomer.member_id) == [ErrorCode.NONE]
    assert driver.answers[token].error is ErrorCode.UNKNOWN_MEMBER_ID
    driver.wait(30_000)
    assert driver.state() is State.PREPARING_REBALANCE
    assert {leader, absent} == set(driver.group.roster.members)
    driver.wait(70_000)
    assert driver.state() is State.EMPTY


def test_absent_members_without_a_rebalance_timeout_do_not_make_the_clock_spin() -> None:
    driver = Driver()
    driver.static("i1", "i2", rebalance_timeout_ms=0)
    driver.leave(Leaving("", "i2"))
    driver.wait(0)
    deadline = driver.group.next_deadline()
    assert deadline is not None
    assert deadline > driver.now


def test_an_administrator_removes_members_by_instance_id_alone() -> None:
    driver = Driver()
    leader, _ = driver.static("i1", "i2")
    assert driver.leave(Leaving("", "i2"), Leaving("", "i9")) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(driver.group.roster.members) == [leader]
    assert driver.state() is State.PREPARING_REBALANCE


def test_a_full_group_takes_a_restarted_member_back() -> None:
    driver = Driver(max_size=1)
    driver.static("i1")
    assert driver.join(group_instance_id="i1").error is ErrorCode.NONE
    assert driver.join(group_instance_id="i2").error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_static_members_that_stay_away_keep_their_places_in_a_full_group() -> None:
    driver = Driver(max_size=2)
    leader, _ = driver.static("i1", "i2")
    again = driver.send_join(leader, group_instance_id="i1")
    assert driver.state() is State.PREPARING_REBALANCE
    for instance_id in ("i3", None):
        refused = driver.join(group_instance_id=instance_id)
        assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    driver.join(group_instance_id="i2")
    assert driver.join_reply(again).error is ErrorCode.NONE
    assert len(driver.group.roster) == 2


def test_who_comes_back_late_is_counted_beside_static_members_that_stay_away() -> None:
    driver = Driver(max_size=3)
    (static,) = driver.static("i1")
    dynamic = [driver.send_join() for _ in range(2)]
    driver.send_join(static, group_instance_id="i1")
    first, second = (driver.join_reply(token).member_id for token in dynamic)
    driver.sync(static)
    driver.leave(first)
    newcomers = [driver.send_join() for _ in range(2)]
    assert driver.join(second).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    driver.send_join(static, group_instance_id="i1")
    assert {driver.join_reply(token).error for token in newcomers} == {ErrorCode.NONE}
    assert len(driver.group.roster) == 3


def test_a_member_restarted_before_it_synced_still_has_to_sync() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 600_000}
    leader = driver.join(group_instance_id="i1", **fields).member_id
    token = driver.send_join(group_instance_id="i2", **fields)
    driver.join(leader, group_instance_id="i1", **fields)
    driver.sync(leader, assignments={driver.join_reply(token).member_id: b"F"})
    new = driver.join(group_instance_id="i2", **fields).member_id
    driver.wait(REBALANCE_MS - 1)
    assert driver.state() is State.STABLE
    driver.wait(1)
    assert new not in driver.group.roster.members


def test_a_leader_that_stays_away_is_kept_but_another_member_leads() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 100_000, "rebalance_timeout_ms": 30_000}
    leader, follower = driver.static("i1", "i2", **fields)
    changed = (("range", subscription("refunds")),)
    fields["protocols"] = changed
    token = driver.send_join(follower, group_instance_id="i2", **fields)
    driver.wait(30_000)
    reply = driver.join_reply(token)
    assert reply.leader == follower
    assert {m.member_id for m in reply.members} == {leader, follower}


def test_a_restarted_member_has_a_new_session() -> None:
    driver = Driver()
    driver.static("i1")
    driver.wait(SESSION_MS - 1)
    new = driver.join(group_instance_id="i1").member_id
    driver.wait(SESSION_MS - 1)
    assert driver.heartbeat(new, instance_id="i1") is ErrorCode.NONE
