"""A client's fetch session against the broker's: what both believe is being read, step by step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.broker.fetch_sessions import FetchSessions, Session
from kafkaesque.client.fetch_session import FetchSession, Limits
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkaesque.types import TopicPartition

LIMITS = Limits(max_wait_ms=500, min_bytes=1, max_bytes=1000, isolation_level=1)
A, B = TopicPartition("orders", 0), TopicPartition("ticks", 3)


def named(request: FetchRequest) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.topic, each.partition): each.fetch_offset
        for topic in request.topics
        for each in topic.partitions
    }


def dropped(request: FetchRequest) -> set[TopicPartition]:
    return {
        TopicPartition(topic.topic, number)
        for topic in request.forgotten_topics_data
        for number in topic.partitions
    }


def reading(*places: TopicPartition) -> FetchSession:
    """One that has been answered once, as number 5."""
    session = FetchSession(LIMITS)
    for place in places:
        session.want(place, 10, 100)
    session.request()
    assert session.answered(FetchResponse(session_id=5))
    return session


def test_the_first_request_names_all_and_the_next_nothing() -> None:
    session = FetchSession(LIMITS)
    session.want(A, 10, 100)
    session.want(B, 20, 100)
    first = session.request()
    assert (first.session_id, first.session_epoch) == (0, 0)
    assert named(first) == {A: 10, B: 20}
    session.answered(FetchResponse(session_id=5))
    second = session.request()
    assert (second.session_id, second.session_epoch, second.isolation_level) == (5, 1, 1)
    assert named(second) == {}


def test_only_what_has_moved_is_named() -> None:
    session = reading(A, B)
    session.want(A, 11, 100)
    assert named(session.request()) == {A: 11}
    assert (session.asked(A), session.asked(B)) == (11, 10)


def test_what_was_moved_while_a_request_was_under_way_does_not_want_its_answer() -> None:
    session = reading(A, B)
    session.want(A, 99, 100)
    session.forget(B)
    assert (session.asked(A), session.asked(B)) == (None, None)
    request = session.request()
    assert (named(request), dropped(request)) == ({A: 99}, {B})
    assert session.asked(A) == 99


def test_an_answer_is_about_those_that_are_wanted_from_where_they_were_asked() -> None:
    session = reading(A)
    session.want(B, 20, 100)
    assert session.unmoved() == [(A, 10)]
    session.request()
    session.want(A, 11, 100)
    assert session.unmoved() == [(B, 20)]


def test_what_is_wanted_again_is_not_among_the_forgotten() -> None:
    session = reading(A, B)
    session.forget(A)
    session.want(A, 10, 100)
    request = session.request()
    assert (named(request), dropped(request)) == ({}, set())


def test_a_session_that_is_lost_is_started_anew() -> None:
    session = reading(A, B)
    session.request()
    lost = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    assert not session.answered(lost)
    again = session.request()
    assert (again.session_id, again.session_epoch) == (0, 0)
    assert named(again) == {A: 10, B: 10}


def test_a_session_out_of_step_is_ended_by_the_next_one() -> None:
    session = reading(A)
    session.request()
    assert not session.answered(FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH))
    again = session.request()
    assert (again.session_id, again.session_epoch) == (5, 0)


def test_another_error_is_the_callers_matter() -> None:
    session = reading(A)
    session.request()
    assert session.answered(FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))


def test_without_a_session_those_that_were_served_come_last() -> None:
    session = FetchSession(LIMITS)
    session.want(A, 10, 100)
    session.want(B, 10, 100)
    session.request()
    session.answered(FetchResponse(session_id=0))
    session.want(A, 11, 100)
    request = session.request()
    assert request.session_epoch == 0
    assert list(named(request)) == [B, A]


def test_only_a_session_has_an_end() -> None:
    assert FetchSession(LIMITS).end() is None
    end = reading(A).end()
    assert end is not None
    assert (end.session_id, end.session_epoch, end.topics) == (5, -1, [])


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["want", "forget", "ask", "broker restarts", "link is lost"]),
        st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 2)),
        st.integers(0, 3),
    ),
    max_size=30,
)


@given(STEPS, st.integers(0, 1))
def test_broker_and_client_agree_after_every_request(
    steps: list[tuple[str, TopicPartition, int]], slots: int
) -> None:
    session, sessions = FetchSession(LIMITS), FetchSessions(slots, lambda: 0)
    wanted: dict[TopicPartition, int] = {}
    for step, place, offset in steps:
        match step:
            case "want":
                session.want(place, offset, 100)
                wanted[place] = offset
            case "forget":
                session.forget(place)
                wanted.pop(place, None)
            case "broker restarts":
                sessions = FetchSessions(slots, lambda: 0)
            case "link is lost":
                session.request()
                session.restart()
                sessions = FetchSessions(slots, lambda: 0)
            case _:
                assert believed(session, sessions) == wanted
                assert {place: session.asked(place) for place in wanted} == wanted


def believed(session: FetchSession, sessions: FetchSessions) -> dict[TopicPartition, int]:
    """What the broker reads in the end, after as many requests as it takes: two, at most."""
    for _ in range(2):
        response, found = resolved(session.request(), sessions)
        assert session.answered(response) is (found is not None)
        if found is not None:
            return {
                TopicPartition(each.topic, each.partition): each.offset
                for each in found.wanted.values()
            }
    pytest.fail("the session does not come about")


def resolved(
    request: FetchRequest, sessions: FetchSessions
) -> tuple[FetchResponse, Session | None]:
    try:
        found = sessions.resolve(request, ("127.0.0.1", None))
    except KafkaError as error:
        return FetchResponse(error_code=error.code), None
    found.take(request)
    return FetchResponse(session_id=found.id), found
