"""Fetch sessions: who gets one, what it remembers, when it ends."""

from uuid import UUID

import pytest

from kafkaesque.broker.fetch_sessions import FetchSessions
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


def offsets(sessions: FetchSessions, asked: FetchRequest) -> dict[str, int]:
    return {wanted.topic: wanted.offset for wanted in sessions.resolve(asked).wanted.values()}


def refused(sessions: FetchSessions, asked: FetchRequest) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        sessions.resolve(asked)
    return caught.value.code


def test_a_session_remembers_what_later_requests_leave_out() -> None:
    sessions = FetchSessions(10, Now())
    session_id = sessions.resolve(request(0, 0, a=1, b=2)).id
    assert session_id > 0
    assert offsets(sessions, request(session_id, 1, b=5)) == {"a": 1, "b": 5}
    assert offsets(sessions, request(session_id, 2)) == {"a": 1, "b": 5}


def test_forgotten_partitions_are_not_read() -> None:
    sessions = FetchSessions(10, Now())
    session_id = sessions.resolve(request(0, 0, a=1, b=2)).id
    asked = request(session_id, 1)
    asked.forgotten_topics_data = [ForgottenTopic(topic="a", partitions=[0])]
    assert offsets(sessions, asked) == {"b": 2}


def test_a_wrong_epoch_and_an_unknown_session_are_refused() -> None:
    sessions = FetchSessions(10, Now())
    session_id = sessions.resolve(request(0, 0, a=1)).id
    assert refused(sessions, request(session_id, 7)) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert refused(sessions, request(999, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_final_epoch_ends_a_session() -> None:
    sessions = FetchSessions(10, Now())
    session_id = sessions.resolve(request(0, 0, a=1)).id
    assert sessions.resolve(request(session_id, -1)).id == 0
    assert refused(sessions, request(session_id, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_without_room_a_fetch_goes_without_a_session() -> None:
    now = Now()
    sessions = FetchSessions(1, now)
    first = sessions.resolve(request(0, 0, a=1)).id
    assert sessions.resolve(request(0, 0, b=1)).id == 0
    now.ms = 10 * 60 * 1000
    assert sessions.resolve(request(0, 0, b=1)).id != 0
    assert refused(sessions, request(first, 1)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_broker_that_starts_anew_gives_other_numbers() -> None:
    def numbers() -> set[int]:
        sessions = FetchSessions(10, Now())
        return {sessions.resolve(request(0, 0, a=1)).id for _ in range(10)}

    assert len(numbers() | numbers()) == 20


def test_a_session_does_not_mix_names_and_ids() -> None:
    sessions = FetchSessions(10, Now())
    session_id = sessions.resolve(request(0, 0, a=1)).id
    asked = request(session_id, 1)
    asked.topics = [FetchTopic(topic_id=UUID(int=5), partitions=[FetchPartition(partition=0)])]
    assert refused(sessions, asked) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_served_partitions_go_to_the_end() -> None:
    sessions = FetchSessions(10, Now())
    session = sessions.resolve(request(0, 0, a=1, b=2, c=3))
    session.to_the_end([next(iter(session.wanted))])
    assert [wanted.topic for wanted in session.wanted.values()] == ["b", "c", "a"]
