"""Fetch sessions: who gets one, what it remembers, when it ends."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.broker.fetch_sessions import FetchSessions, Owner, Session
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)


class Now:
    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> int:
        return self.ms


def request(session_id: int, epoch: int, **partitions: int) -> FetchRequest:
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[
            FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=offset)])
            for topic, offset in partitions.items()
        ],
    )


ME, STRANGER = ("10.0.0.1", "me"), ("10.0.0.2", "me")


def resolve(sessions: FetchSessions, asked: FetchRequest, owner: Owner = ME) -> Session:
    session = sessions.resolve(asked, owner)
    session.take(asked)
    return session


def offsets(sessions: FetchSessions, asked: FetchRequest) -> dict[str, int]:
    return {wanted.topic: wanted.offset for wanted in resolve(sessions, asked).wanted.values()}


def refused(sessions: FetchSessions, asked: FetchRequest, owner: Owner = ME) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        resolve(sessions, asked, owner)
    return caught.value.code


def test_a_session_remembers_what_later_requests_leave_out() -> None:
    sessions = FetchSessions(10, Now())
    session_id = resolve(sessions, request(0, 0, a=1, b=2)).id
    assert session_id > 0
    assert offsets(sessions, request(session_id, 1, b=5)) == {"a": 1, "b": 5}
    assert offsets(sessions, request(session_id, 2)) == {"a": 1, "b": 5}


def test_forgotten_partitions_are_not_read() -> None:
    sessions = FetchSessions(10, Now())
    session_id = resolve(sessions, request(0, 0, a=1, b=2)).id
    asked = request(session_id, 1)
    asked.forgotten_topics_data = [ForgottenTopic(topic="a", partitions=[0])]
    assert offsets(sessions, asked) == {"b": 2}


def test_a_wrong_epoch_and_an_unknown_session_are_refused() -> None:
    sessions = FetchSessions(10, Now())
    session_id = resolve(sessions, request(0, 0, a=1)).id
    assert refused(sessions, request(session_id, 7)) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(sessions, request(999, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_final_epoch_ends_a_session() -> None:
    sessions = FetchSessions(10, Now())
    session_id = resolve(sessions, request(0, 0, a=1)).id
    assert resolve(sessions, request(session_id, -1)).id == 0
    assert refused(sessions, request(session_id, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_without_room_a_fetch_goes_without_a_session() -> None:
    now = Now()
    sessions = FetchSessions(1, now)
    first = resolve(sessions, request(0, 0, a=1)).id
    assert resolve(sessions, request(0, 0, b=1)).id == 0
    now.ms = 10 * 60 * 1000
    assert resolve(sessions, request(0, 0, b=1)).id != 0
    assert refused(sessions, request(first, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_broker_that_starts_anew_gives_other_numbers() -> None:
    def numbers() -> set[int]:
        sessions = FetchSessions(10, Now())
        return {resolve(sessions, request(0, 0, a=1)).id for _ in range(10)}

    assert len(numbers() | numbers()) == 20


def test_a_session_does_not_mix_names_and_ids() -> None:
    sessions = FetchSessions(10, Now())
    session_id = resolve(sessions, request(0, 0, a=1)).id
    asked = request(session_id, 1)
    asked.topics = [FetchTopic(topic_id=UUID(int=5), partitions=[FetchPartition(partition=0)])]
    assert refused(sessions, asked) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_served_partitions_go_to_the_end() -> None:
    sessions = FetchSessions(10, Now())
    session = resolve(sessions, request(0, 0, a=1, b=2, c=3))
    session.to_the_end([next(iter(session.wanted))])
    assert [wanted.topic for wanted in session.wanted.values()] == ["b", "c", "a"]


@pytest.mark.parametrize("owner", [STRANGER, ("10.0.0.1", "another"), ("10.0.0.1", None)])
def test_a_session_is_its_clients_alone(owner: Owner) -> None:
    sessions = FetchSessions(10, Now())
    session_id = resolve(sessions, request(0, 0, a=1)).id
    not_found = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refused(sessions, request(session_id, 1, a=99), owner) is not_found
    for ending in (0, -1):
        resolve(sessions, request(session_id, ending), owner)
    assert offsets(sessions, request(session_id, 1)) == {"a": 1}


def test_a_client_ends_its_session_when_it_begins_anew() -> None:
    """Java's does so after a reconnect."""
    sessions = FetchSessions(1, Now())
    first = resolve(sessions, request(0, 0, a=1)).id
    assert resolve(sessions, request(first, 0, a=1)).id not in (0, first)


def test_sessions_keep_so_many_partitions_and_no_more() -> None:
    sessions = FetchSessions(10, Now(), max_partitions=3)
    session_id = resolve(sessions, request(0, 0, a=1, b=1)).id
    assert resolve(sessions, request(0, 0, c=1, d=1)).id == 0
    assert offsets(sessions, request(session_id, 1, c=1)) == {"a": 1, "b": 1, "c": 1}
    not_found = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert refused(sessions, request(session_id, 2, d=1)) is not_found
    assert resolve(sessions, request(0, 0, d=1)).id > 0


def silent_and_alive(now: Now) -> tuple[FetchSessions, list[int]]:
    """Four sessions that keep all partitions there may be. The first three are of clients that
    are gone.
    """
    sessions = FetchSessions(10, now, max_partitions=8)
    numbers = []
    for _ in range(4):
        now.ms += 1
        numbers.append(resolve(sessions, request(0, 0, a=1, b=1)).id)
    now.ms += 10 * 60 * 1000
    resolve(sessions, request(numbers[-1], 1))
    return sessions, numbers


def known(sessions: FetchSessions, numbers: list[int]) -> list[bool]:
    return [number in sessions._sessions for number in numbers]


def test_sessions_that_are_silent_give_way_to_new_partitions_as_many_as_it_takes() -> None:
    sessions, numbers = silent_and_alive(Now())
    assert resolve(sessions, request(0, 0, a=1, b=1, c=1)).id > 0
    assert known(sessions, numbers) == [False, False, True, True]


def test_sessions_that_are_silent_give_way_to_more_partitions_of_another() -> None:
    sessions, numbers = silent_and_alive(Now())
    asked = request(numbers[-1], 2, c=1)
    assert offsets(sessions, asked) == {"a": 1, "b": 1, "c": 1}
    assert known(sessions, numbers) == [False, True, True, True]


def test_a_session_that_was_silent_does_not_give_way_to_itself() -> None:
    sessions, numbers = silent_and_alive(Now())
    asked = request(numbers[0], 1, c=1)
    assert offsets(sessions, asked) == {"a": 1, "b": 1, "c": 1}
    assert known(sessions, numbers) == [True, False, True, True]


def test_no_session_gives_way_in_vain() -> None:
    sessions, numbers = silent_and_alive(Now())
    many = dict.fromkeys("abcdefgh", 1)
    assert resolve(sessions, request(0, 0, **many)).id == 0
    assert known(sessions, numbers) == [True] * 4


def test_requests_that_are_let_in_before_others_are_taken_over_count_too() -> None:
    sessions = FetchSessions(10, Now(), max_partitions=3)
    first = sessions.resolve(request(0, 0, a=0, b=0), ME)
    assert sessions.resolve(request(0, 0, a=0, b=0), ME).id == 0
    first.take(request(0, 0, a=0, b=0))
    # What is named again is counted once.
    first.take(request(first.id, 1, a=1))
    assert sessions.resolve(request(0, 0, a=0), ME).id != 0


def test_requests_of_one_session_that_come_at_once_count_together() -> None:
    sessions = FetchSessions(10, Now(), max_partitions=4)
    session_id = resolve(sessions, request(0, 0, a=0)).id
    second, third = request(session_id, 1, b=0, c=0), request(session_id, 2, d=0)
    session = sessions.resolve(second, ME)
    sessions.resolve(third, ME)
    assert sessions.resolve(request(0, 0, e=0), STRANGER).id == 0
    # What one has brought, or would have, says nothing about the other.
    session.take(third)
    assert sessions.resolve(request(0, 0, e=0), STRANGER).id == 0
    session.taken(second)
    session.taken(second)
    assert sessions.resolve(request(0, 0, e=0, f=0), STRANGER).id != 0


def test_a_session_that_has_ended_counts_until_its_requests_are_taken_over() -> None:
    sessions = FetchSessions(10, Now(), max_partitions=3)
    session_id = resolve(sessions, request(0, 0, a=0)).id
    late = request(session_id, 1, b=0)
    session = sessions.resolve(late, ME)
    resolve(sessions, request(session_id, -1))
    assert sessions.resolve(request(0, 0, c=0, d=0), ME).id == 0
    session.take(late)
    assert sessions.resolve(request(0, 0, c=0, d=0), ME).id != 0


def test_sessions_that_have_ended_are_not_held_when_their_requests_are_taken_over() -> None:
    sessions = FetchSessions(10, Now())
    for _ in range(5):
        late = request(0, 0)
        session = sessions.resolve(late, ME)
        resolve(sessions, request(session.id, -1))
        session.take(late)
    assert len(sessions._ended) == 1


def test_a_session_does_not_give_way_while_requests_are_on_their_way_into_it() -> None:
    now = Now()
    sessions = FetchSessions(1, now)
    late = request(0, 0, a=0)
    session = sessions.resolve(late, ME)
    now.ms = 10 * 60 * 1000
    assert sessions.resolve(request(0, 0, b=0), ME).id == 0
    session.taken(late)
    assert sessions.resolve(request(0, 0, b=0), ME).id != 0
    assert not known(sessions, [session.id])[0]


def test_sessions_are_looked_through_only_when_room_may_be_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []
    sessions = FetchSessions(10, Now(), max_partitions=100)
    count = sessions._kept

    def kept() -> int:
        looks.append(count())
        return looks[-1]

    monkeypatch.setattr(sessions, "_kept", kept)
    session_id = resolve(sessions, request(0, 0, a=0, b=0)).id
    for epoch in range(1, 50):
        resolve(sessions, request(session_id, epoch, a=epoch, b=epoch))
    assert not looks
    # What was named so often is there but once.
    assert offsets(sessions, request(session_id, 50, c=1)) == {"a": 49, "b": 49, "c": 1}
    assert looks == [2]


MAX_PARTITIONS = 12
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "go on", "end", "take", "cancel", "wait"]),
        st.integers(0, 5),
        st.integers(0, 20),
        st.integers(0, 6),
    ),
    max_size=60,
)


@given(STEPS)
def test_sessions_keep_no_more_in_whatever_order_requests_come_and_go(
    steps: list[tuple[str, int, int, int]],
) -> None:
    now = Now()
    sessions = FetchSessions(3, now, MAX_PARTITIONS)
    everyone: list[Session] = []
    under_way: list[tuple[Session, FetchRequest]] = []

    def ask(session_id: int, epoch: int, first: int, count: int) -> None:
        names = {f"t{first + number}": 0 for number in range(count)}
        asked = request(session_id, epoch, **names)
        try:
            session = sessions.resolve(asked, ME)
        except KafkaError:
            return
        under_way.append((session, asked))
        if session.id and session not in everyone:
            everyone.append(session)

    for step, which, first, count in steps:
        match step:
            case "begin":
                ask(0, 0, first, count)
            case "go on" | "end" if everyone:
                session = everyone[-1 - which % len(everyone)]
                ask(session.id, session.epoch if step == "go on" else -1, first, count)
            case "take" | "cancel" if under_way:
                session, asked = under_way.pop(which % len(under_way))
                if step == "take":
                    session.take(asked)
                session.taken(asked)
            case "wait":
                now.ms += 60_000
        for session in everyone:
            mine = [asked for whose, asked in under_way if whose is session]
            assert sum(session.coming.values()) == sum(len(asked.topics) for asked in mine)
        assert sessions._kept() <= sessions._most
        held = [s for s in everyone if s.coming or s.id in sessions._sessions]
        assert sum(len(session.wanted) for session in held) <= MAX_PARTITIONS
    for session, asked in under_way:
        session.take(asked)
    kept = sum(len(session.wanted) for session in sessions._sessions.values())
    assert sessions._kept() == kept <= MAX_PARTITIONS
