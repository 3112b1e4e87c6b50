"""Calls of handlers: on the loop, in threads, several in one trip, and what they raise."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafkaesque.client.app import Ack, App
from kafkaesque.client.app import calls as module
from kafkaesque.client.app.calls import Calls, Trip
from kafkaesque.client.app.workers import Workers
from kafkaesque.event import Event

EVENTS = [Event("orders", 0, offset, 0, None, offset) for offset in range(5)]


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a trip might end before its second event."""
    monkeypatch.setattr(module, "_TRIP_S", 60.0)


@pytest.fixture
def workers() -> Any:
    made = Workers(2, "test")
    yield made
    made.end()


def calls(function: Callable[..., Any], workers: Workers, batch: int | None = None) -> Calls:
    app = App()
    app.handle("orders", group="g", batch=batch)(function)
    return Calls(app.handlers[0], workers)


def ack() -> Ack:
    return Ack(EVENTS, lambda offset: None, lambda offset, error: None)


def fail_at(offset: int, raised: BaseException) -> Callable[[Event], None]:
    def handler(event: Event) -> None:
        if event.offset == offset:
            raise raised

    return handler


@pytest.mark.parametrize("batch", [None, 5])
def test_the_handler_gets_what_its_kind_takes(workers: Workers, batch: int | None) -> None:
    given: list[Any] = []
    run = calls(lambda it, ack: given.append((it, ack)), workers, batch)
    acknowledge = ack()
    assert asyncio.run(run.call(EVENTS, acknowledge)) is None
    assert given == [(EVENTS if batch else EVENTS[0], acknowledge)]


def test_what_a_handler_raises_is_told(workers: Workers) -> None:
    error = ValueError("no")
    assert asyncio.run(calls(fail_at(0, error), workers).call(EVENTS, ack())) is error
    ended = asyncio.run(calls(fail_at(0, SystemExit(3)), workers).call(EVENTS, ack()))
    assert str(ended) == "the handler called sys.exit(3)"


def test_a_trip_ends_at_the_event_that_fails(workers: Workers) -> None:
    error, trip = ValueError("no"), Trip(EVENTS, lambda: False)
    assert asyncio.run(calls(fail_at(3, error), workers).call_each(trip)) is error
    assert trip.done == 3


def test_a_trip_ends_when_it_should(workers: Workers) -> None:
    trip = Trip(EVENTS, lambda: True)
    assert asyncio.run(calls(lambda event: None, workers).call_each(trip)) is None
    assert trip.done == 1


def test_a_trip_ends_at_what_has_to_be_awaited(workers: Workers) -> None:
    async def inner(event: Event) -> None:
        await asyncio.sleep(0)
        if event.offset == 1:
            raise ValueError("no")

    run = calls(lambda event: inner(event), workers)
    first, second = Trip(EVENTS, lambda: False), Trip(EVENTS[1:], lambda: False)
    assert asyncio.run(run.call_each(first)) is None
    assert first.done == 1
    assert str(asyncio.run(run.call_each(second))) == "no"
    assert second.done == 0


def test_a_call_that_nobody_waits_for_is_a_straggler(workers: Workers) -> None:
    go_on = threading.Event()
    run = calls(lambda event: go_on.wait(60), workers)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.call(EVENTS, ack()), 0.01)
        assert run.straggler is not None
        assert not run.straggler.done()
        go_on.set()
        await asyncio.wrap_future(run.straggler)

    asyncio.run(give_up())


def test_workers_are_no_more_than_are_needed_and_allowed(workers: Workers) -> None:
    two = threading.Barrier(2)

    def meet() -> str:
        two.wait(60)
        return threading.current_thread().name

    jobs = [workers.start(meet) for _ in range(6)]
    assert {job.result(60) for job in jobs} == {"test-1", "test-2"}
