"""JoinGroup: newcomers, rejoining members, the vote, the first rebalance's delay, refusals."""

from typing import Any

import pytest
from tests.unit.groups.driver import RANGE, REBALANCE_MS, SESSION_MS, Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import State

ROUND_ROBIN = ("roundrobin", subscription("orders"))


def test_the_first_member_leads_generation_one_and_is_told_of_itself() -> None:
    driver = Driver()
    reply = driver.join(client_id="reader")
    assert reply.error is ErrorCode.NONE
    assert reply.member_id == "reader-1"
    assert reply.leader == "reader-1"
    assert reply.generation == 1
    assert (reply.protocol_type, reply.protocol_name) == ("consumer", "range")
    assert [(m.member_id, m.metadata) for m in reply.members] == [("reader-1", RANGE[0][1])]
    assert driver.state() is State.COMPLETING_REBALANCE


def test_a_newcomer_is_told_its_id_first_when_the_version_asks_for_it() -> None:
    driver = Driver()
    told = driver.join(require_known_member_id=True)
    assert told.error is ErrorCode.MEMBER_ID_REQUIRED
    assert driver.state() is State.EMPTY
    reply = driver.join(told.member_id, require_known_member_id=True)
    assert reply.error is ErrorCode.NONE
    assert reply.member_id == told.member_id


def test_a_static_newcomer_is_let_in_without_being_told_its_id_first() -> None:
    reply = Driver().join(group_instance_id="i", require_known_member_id=True)
    assert reply.error is ErrorCode.NONE
    assert reply.member_id == "i-1"


def test_an_id_that_was_handed_out_becomes_void_after_the_session_timeout() -> None:
    driver = Driver()
    told = driver.join(require_known_member_id=True)
    assert driver.group.next_deadline() == driver.now + SESSION_MS
    driver.wait(SESSION_MS)
    assert driver.group.next_deadline() is None
    assert driver.join(told.member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_second_member_waits_until_the_first_has_rejoined() -> None:
    driver = Driver()
    (first,) = driver.stable("a")
    token = driver.send_join(client_id="b")
    assert token not in driver.answers
    assert driver.heartbeat(first) is ErrorCode.REBALANCE_IN_PROGRESS
    leader = driver.join(first)
    follower = driver.join_reply(token)
    assert leader.generation == follower.generation == 2
    assert leader.leader == follower.leader == first
    assert {m.member_id for m in leader.members} == {first, follower.member_id}
    assert follower.members == ()


def test_the_join_waits_for_a_client_that_was_just_told_its_id() -> None:
    driver = Driver()
    (first,) = driver.stable("a")
    told = driver.join(require_known_member_id=True)
    token = driver.send_join(first)
    assert token not in driver.answers
    assert driver.join(told.member_id).generation == 2
    assert driver.join_reply(token).generation == 2


def test_a_pending_id_that_expires_lets_the_others_go_on() -> None:
    driver = Driver()
    (first,) = driver.stable("a")
    driver.join(require_known_member_id=True)
    token = driver.send_join(first)
    driver.wait(SESSION_MS)
    assert driver.join_reply(token).generation == 2


def test_a_follower_without_news_is_given_the_current_generation() -> None:
    driver = Driver()
    _, follower = driver.stable("a", "b")
    generation = driver.group.generation
    reply = driver.join(follower)
    assert (reply.error, reply.generation, reply.members) == (ErrorCode.NONE, generation, ())
    assert driver.state() is State.STABLE


def test_a_leader_that_rejoins_starts_a_rebalance_even_without_news() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    token = driver.send_join(leader)
    assert driver.state() is State.PREPARING_REBALANCE
    driver.join(follower)
    assert driver.join_reply(token).error is ErrorCode.NONE


def test_a_follower_with_new_metadata_starts_a_rebalance() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    before = driver.group.generation
    token = driver.send_join(follower, protocols=(("range", subscription("orders", "refunds")),))
    assert driver.state() is State.PREPARING_REBALANCE
    driver.join(leader)
    assert driver.join_reply(token).generation == before + 1


def test_a_member_that_missed_the_answer_is_given_it_again() -> None:
    driver = Driver()
    leader = driver.join().member_id
    again = driver.join(leader)
    assert again.generation == 1
    assert [m.member_id for m in again.members] == [leader]
    assert driver.state() is State.COMPLETING_REBALANCE


def test_new_metadata_while_the_leader_assigns_starts_the_rebalance_over() -> None:
    driver = Driver()
    leader = driver.join().member_id
    reply = driver.join(leader, protocols=(("range", subscription("refunds")),))
    assert reply.generation == 2
    assert reply.members[0].metadata == subscription("refunds")


def test_a_join_that_is_sent_twice_answers_the_first_one_too() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    lost = driver.send_join(leader)
    kept = driver.send_join(leader)
    assert driver.answers[lost].error is ErrorCode.REBALANCE_IN_PROGRESS
    driver.join(follower)
    assert driver.answers[kept].error is ErrorCode.NONE


def test_members_that_do_not_rejoin_in_time_are_removed() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b", session_timeout_ms=600_000)
    token = driver.send_join(leader, session_timeout_ms=600_000)
    driver.wait(REBALANCE_MS - 1)
    assert token not in driver.answers
    driver.wait(1)
    reply = driver.join_reply(token)
    assert [m.member_id for m in reply.members] == [leader]
    assert driver.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_rebalance_waits_as_long_as_its_most_patient_member_asks() -> None:
    driver = Driver()
    fields: dict[str, Any] = {"session_timeout_ms": 600_000, "rebalance_timeout_ms": 20_000}
    leader, follower = driver.stable("a", "b", **fields)
    driver.group.roster.members[follower].rebalance_timeout_ms = 90_000
    token = driver.send_join(leader, **fields)
    driver.wait(89_999)
    assert token not in driver.answers
    driver.wait(1)
    assert token in driver.answers


def test_a_member_that_rejoins_may_bring_new_timeouts() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b", session_timeout_ms=600_000)
    driver.send_join(leader, session_timeout_ms=20_000, rebalance_timeout_ms=90_000)
    driver.join(follower, session_timeout_ms=600_000)
    assert driver.group.next_deadline() == driver.now + 20_000
    assert driver.group.sync_deadline_ms == driver.now + 90_000


def test_a_leader_that_does_not_rejoin_is_followed_by_one_that_did() -> None:
    driver = Driver()
    _, follower = driver.stable("a", "b", session_timeout_ms=600_000)
    changed = (("range", subscription("refunds")),)
    token = driver.send_join(follower, protocols=changed, session_timeout_ms=600_000)
    driver.wait(REBALANCE_MS)
    reply = driver.join_reply(token)
    assert reply.leader == follower
    assert [m.member_id for m in reply.members] == [follower]


def test_the_protocol_is_one_that_all_offer_and_most_prefer() -> None:
    driver = Driver()
    both = (*RANGE, ROUND_ROBIN)
    first = driver.join(protocols=both).member_id
    second = driver.send_join(protocols=(ROUND_ROBIN, *RANGE))
    third = driver.send_join(protocols=(("sticky", b""), ROUND_ROBIN, *RANGE))
    driver.join(first, protocols=both)
    assert driver.join_reply(second).protocol_name == "roundrobin"
    assert driver.join_reply(third).protocol_name == "roundrobin"


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("consumer", (("sticky", b""),)), ("connect", RANGE), ("consumer", ())],
)
def test_a_member_that_shares_no_protocol_is_refused(
    protocol_type: str, protocols: tuple[tuple[str, bytes], ...]
) -> None:
    driver = Driver()
    driver.stable("a")
    reply = driver.join(protocol_type=protocol_type, protocols=protocols)
    assert reply.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.state() is State.STABLE


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", RANGE), ("consumer", ())])
def test_the_first_member_has_to_name_a_protocol(
    protocol_type: str, protocols: tuple[tuple[str, bytes], ...]
) -> None:
    reply = Driver().join(protocol_type=protocol_type, protocols=protocols)
    assert reply.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_whoever_comes_when_all_others_have_left_has_to_name_a_protocol() -> None:
    """A rebalance goes on without members while a client that was told its id is awaited."""
    driver = Driver()
    first, second = driver.stable("a", "b")
    driver.join(require_known_member_id=True)
    driver.leave(first)
    driver.leave(second)
    assert driver.state() is State.PREPARING_REBALANCE
    assert driver.join(protocols=()).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.group.roster.members == {}


def test_any_protocol_type_will_do() -> None:
    reply = Driver().join(protocol_type="connect", protocols=(("sessioned", b"\x00"),))
    assert (reply.protocol_type, reply.protocol_name) == ("connect", "sessioned")


def test_an_emptied_group_may_change_its_protocol_type() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    driver.leave(member)
    reply = driver.join(protocol_type="connect", protocols=(("sessioned", b""),))
    assert (reply.protocol_type, reply.generation) == ("connect", 3)


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001])
def test_a_session_timeout_out_of_bounds_is_refused(timeout_ms: int) -> None:
    driver = Driver()
    assert driver.join(session_timeout_ms=timeout_ms).error is ErrorCode.INVALID_SESSION_TIMEOUT
    assert driver.group.is_vacant


@pytest.mark.parametrize("timeout_ms", [6_000, 1_800_000])
def test_a_session_timeout_at_the_bounds_is_accepted(timeout_ms: int) -> None:
    assert Driver().join(session_timeout_ms=timeout_ms).error is ErrorCode.NONE


def test_an_id_that_was_never_given_is_refused() -> None:
    driver = Driver()
    assert driver.join("c-99").error is ErrorCode.UNKNOWN_MEMBER_ID
    driver.stable("a")
    reply = driver.join("c-99")
    assert (reply.error, reply.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "c-99")


def test_a_full_group_turns_newcomers_away_and_keeps_its_members() -> None:
    driver = Driver(max_size=2)
    leader, follower = driver.stable("a", "b")
    refused = driver.join(client_id="x")
    assert (refused.error, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert driver.state() is State.STABLE
    token = driver.send_join(leader)
    driver.join(follower)
    assert driver.join_reply(token).error is ErrorCode.NONE


def test_a_client_that_was_told_its_id_may_come_too_late_for_a_full_group() -> None:
    driver = Driver(max_size=2)
    (leader,) = driver.stable("a")
    told = driver.join(require_known_member_id=True)
    driver.send_join(client_id="b")
    token = driver.send_join(leader)
    assert driver.join(told.member_id).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(driver.join_reply(token).members) == 2


def test_the_last_to_rejoin_are_shed_when_there_are_too_many() -> None:
    driver = Driver()
    leader, follower = driver.stable("a", "b")
    driver.group.config = Driver(max_size=1).group.config
    token = driver.send_join(leader)
    assert driver.join(follower).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert [m.member_id for m in driver.join_reply(token).members] == [leader]


def test_the_first_rebalance_waits_for_more_members() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    first = driver.send_join(client_id="a")
    driver.wait(2_999)
    assert first not in driver.answers
    driver.wait(1)
    assert driver.join_reply(first).generation == 1


def test_each_newcomer_prolongs_the_first_rebalance_up_to_the_rebalance_timeout() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    first = driver.send_join(client_id="a", rebalance_timeout_ms=10_000)
    for _ in range(3):
        driver.wait(2_000)
        driver.send_join(client_id="b", rebalance_timeout_ms=10_000)
        driver.wait(1_000)
        assert first not in driver.answers
    driver.send_join(client_id="late", rebalance_timeout_ms=10_000)
    driver.wait(999)
    assert first not in driver.answers
    driver.wait(1)
    assert len(driver.join_reply(first).members) == 5


def test_without_newcomers_the_first_rebalance_is_not_prolonged() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    tokens = [driver.send_join(client_id=name) for name in "ab"]
    driver.wait(3_000)
    assert not driver.answers
    driver.wait(3_000)
    assert {driver.join_reply(token).generation for token in tokens} == {1}


def test_a_later_rebalance_does_not_wait_for_more_members() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    token = driver.send_join()
    driver.wait(3_000)
    leader = driver.join_reply(token).member_id
    driver.sync(leader)
    assert driver.join(leader).generation == 2


def test_a_new_member_whose_client_is_gone_is_given_up_after_five_minutes() -> None:
    driver = Driver()
    (leader,) = driver.stable("a", rebalance_timeout_ms=900_000, session_timeout_ms=1_800_000)
    gone = driver.send_join(client_id="gone", rebalance_timeout_ms=900_000)
    driver.wait(300_000)
    assert driver.join_reply(gone).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.join_reply(gone).member_id == ""
    assert driver.join(leader, rebalance_timeout_ms=900_000).generation == 2


def test_a_group_that_only_keeps_offsets_can_be_joined() -> None:
    driver = Driver()
    assert driver.check_commit() is ErrorCode.NONE
    assert driver.join().error is ErrorCode.NONE


def test_an_instance_id_that_makes_ids_too_long_to_store_is_refused() -> None:
    driver = Driver()
    assert driver.join(group_instance_id="i" * 250).error is ErrorCode.INVALID_REQUEST
    assert driver.join(group_instance_id="i" * 249).error is ErrorCode.NONE
