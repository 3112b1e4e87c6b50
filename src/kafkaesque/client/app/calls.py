"""One call of a handler: on the loop if it is async, else in a thread.

What a handler raises is its result, `SystemExit` too: a handler that fails is a matter of its
partition, and never ends the app. Above: lane.py. Below: handlers.py, workers.py.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

from kafkaesque.client.app.handlers import Handler
from kafkaesque.client.app.workers import Workers
from kafkaesque.event import Event

_TRIP_S = 0.05
_Outcome: TypeAlias = tuple[Awaitable[Any] | None, Exception | None]
"""What a plain function left to await (one around an async one does), or what it raised."""
_DONE: _Outcome = (None, None)


class Ack:
    """Acknowledges the events a handler was given, in any order, at any time, from any thread.

    `ack()` means all of them, `ack(event)` one of a batch. `ack.fail(error)` gives them up
    instead: without another attempt they are dead-lettered, or stop the partition.
    """

    def __init__(
        self,
        events: Sequence[Event],
        done: Callable[[int], None],
        failed: Callable[[int, Exception], None],
    ) -> None:
        self._events = events
        self._done = done
        self._failed = failed

    def __call__(self, *events: Event) -> None:
        for event in self._own(events):
            self._done(event.offset)

    def fail(self, error: Exception | str, *events: Event) -> None:
        reason = error if isinstance(error, Exception) else RuntimeError(error)
        for event in self._own(events):
            self._failed(event.offset, reason)

    def _own(self, events: Sequence[Event]) -> Sequence[Event]:
        for event in events:
            if event not in self._events:
                raise ValueError(
                    f"{event.topic}/{event.partition}@{event.offset} is not what {self!r} is for: "
                    "use the ack that came with the event"
                )
        return events or self._events

    def __repr__(self) -> str:
        first = self._events[0]
        more = f" and {len(self._events) - 1} more" if len(self._events) > 1 else ""
        return f"<Ack {first.topic}/{first.partition}@{first.offset}{more}>"


class Trip:
    """Several events, one after another, in one trip to a thread: the way there and back takes
    longer than most handlers do. It ends early when time is up or `should_end` says so."""

    def __init__(self, events: Sequence[Event], should_end: Callable[[], bool]) -> None:
        self.done = 0
        self._events = events
        self._should_end = should_end

    def run(self, function: Callable[..., Any]) -> _Outcome:
        """In the thread. What has to be awaited ends the trip."""
        deadline = time.monotonic() + _TRIP_S
        for event in self._events:
            outcome = _outcome(function, (event,))
            if outcome != _DONE:
                return outcome
            self.done += 1
            if self._should_end() or time.monotonic() > deadline:
                break
        return _DONE


class Calls:
    """The calls of one partition's handler, one at a time."""

    def __init__(self, handler: Handler, workers: Workers) -> None:
        self.straggler: Future[_Outcome] | None = None
        """A thread that is at work; it goes on if we no longer wait for it."""
        self._handler = handler
        self._workers = workers

    async def call(self, events: Sequence[Event], ack: Ack) -> Exception | None:
        """What the handler raised. Raises CancelledError only if we are cancelled ourselves."""
        given: Any = events[0] if self._handler.batch is None else list(events)
        arguments = (given, ack) if self._handler.takes_ack else (given,)
        if self._handler.is_async:
            return await _failure_of(self._handler.function(*arguments))
        coroutine, error = await self._in_thread(_outcome, self._handler.function, arguments)
        return error if coroutine is None else await _failure_of(coroutine)

    async def call_each(self, trip: Trip) -> Exception | None:
        """What the handler raised for the event that follows the `trip.done` ones."""
        coroutine, error = await self._in_thread(trip.run, self._handler.function)
        if coroutine is not None:
            error = await _failure_of(coroutine)
            trip.done += error is None
        return error

    async def _in_thread(self, call: Callable[..., _Outcome], *arguments: Any) -> _Outcome:
        self.straggler = self._workers.start(call, *arguments)
        started: asyncio.Future[_Outcome] = asyncio.wrap_future(self.straggler)
        outcome = await asyncio.shield(started)
        self.straggler = None
        return outcome


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Outcome:
    # Told, not raised: some exceptions, as StopIteration, cannot pass through a future.
    try:
        result = function(*arguments)
    except (Exception, SystemExit) as error:
        return None, _failure(error)
    return (result if inspect.isawaitable(result) else None), None


async def _failure_of(coroutine: Awaitable[Any]) -> Exception | None:
    try:
        await coroutine
    except asyncio.CancelledError:
        if _is_cancelled():
            raise
        return RuntimeError("the handler was cancelled from inside")
    except (Exception, SystemExit) as error:
        return _failure(error)
    return None


def _failure(error: Exception | SystemExit) -> Exception:
    if isinstance(error, SystemExit):
        return RuntimeError(f"the handler called sys.exit({error.code!r})")
    return error


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
