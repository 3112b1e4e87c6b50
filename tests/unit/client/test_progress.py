"""What is finished with, and so may be committed."""

from kafkaesque.client.progress import Progress
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def event(place: TopicPartition, offset: int) -> Event:
    return Event(*place, offset, 0, None, None)


def handed(*events: Event) -> Progress:
    progress = Progress()
    for each in events:
        progress.hand_out(each)
    return progress


def test_an_event_is_finished_with_when_the_next_is_asked_for() -> None:
    progress = handed(event(A, 0), event(A, 1), event(B, 5))
    assert progress.uncommitted() == {A: 2}
    progress.settle()
    assert progress.uncommitted() == {A: 2, B: 6}


def test_what_is_held_when_the_program_stops_is_read_again() -> None:
    progress = handed(event(A, 0), event(A, 1))
    progress.let_go()
    assert progress.uncommitted() == {A: 1}


def test_what_is_committed_is_not_committed_again() -> None:
    progress = handed(event(A, 0))
    progress.settle()
    progress.note_commit({A: 1})
    assert progress.uncommitted() == {}
    progress.hand_out(event(A, 1))
    assert progress.uncommitted(with_held=True) == {A: 2}
    assert progress.positions() == {A: 2}


def test_a_partition_that_is_not_ours_is_forgotten() -> None:
    progress = handed(event(A, 0), event(B, 0))
    progress.drop([A, B])
    progress.settle()
    assert progress.positions() == {}
    progress.note_commit({A: 1})
    assert progress.uncommitted() == {}


def test_a_seek_is_where_it_goes_on() -> None:
    progress = handed(event(A, 5))
    progress.move(A, 2)
    progress.settle()
    assert progress.uncommitted() == {A: 2}


def test_the_end_is_reached_by_events_or_by_being_told() -> None:
    progress = Progress()
    assert not progress.is_at_end
    progress.expect({A: 2, B: 3})
    progress.hand_out(event(A, 1))
    progress.settle()
    assert not progress.is_at_end
    progress.reach(B, 2)
    assert not progress.is_at_end
    progress.reach(B, 3)  # The last offset is no event, but a marker.
    assert progress.is_at_end
    assert progress.reached == {A: 2, B: 3}


def test_nothing_to_read_is_the_end() -> None:
    progress = Progress()
    progress.expect({})
    assert progress.is_at_end
