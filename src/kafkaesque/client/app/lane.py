"""One partition's events on their way through its handler, in order: a task on the app's loop.

An event is tried 1 + `retries` times, with a longer wait each time, then given up: dead-lettered,
or the partition stops. Other partitions have lanes of their own and go on. A batch that fails is
retried as a whole; then it is halved until the events that fail stand alone, so that one bad event
takes no other with it.

`start`, `add` and `close` belong to the loop; the counters, `position` and `state` may be read by
any thread. Above: member.py. Below: calls.py, tracker.py, dead_letters.py.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from kafkaesque.client.app.calls import Ack, Calls, Trip
from kafkaesque.client.app.dead_letters import DeadLetter, DeadLetters, reason
from kafkaesque.client.app.deliveries import Delivery, delivery
from kafkaesque.client.app.handlers import Handler
from kafkaesque.client.app.status import PartitionStatus, State
from kafkaesque.client.app.tracker import Tracker
from kafkaesque.client.app.workers import Workers
from kafkaesque.client.connection import ClusterError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

_CANCEL_S = 1.0
_LOOK_S = 0.01
_TRIP_EVENTS = 100
_log = logging.getLogger("kafkaesque.app")


class _Ended(Exception):  # noqa: N818
    """The lane takes no more events: it stopped, or is being closed."""


class Lane:
    def __init__(
        self,
        place: TopicPartition,
        handler: Handler,
        loop: asyncio.AbstractEventLoop,
        workers: Workers,
        dead_letters: DeadLetters,
        straggler: "Future[Any] | None" = None,
    ) -> None:
        """`straggler` is a call for the same partition that an earlier lane did not wait for."""
        self.place = place
        self.handler = handler
        self.state = State.IDLE
        self.last_error: str | None = None
        self.dead_lettered = 0
        self.handed = 0
        """Events that the member has sent here; it alone counts them."""
        self.limit = handler.buffer
        """How many may be here and not done, before the member sends no more."""
        self._tracker = Tracker()
        self._calls = Calls(handler, workers)
        self._dead_letters = dead_letters
        self._straggler = straggler
        self._queue: deque[Delivery] = deque()
        self._unacknowledged: dict[int, Delivery] = {}
        self._refused: dict[int, Exception] = {}
        self._arrived = asyncio.Event()
        self._loop = loop
        self._thread: int | None = None
        self._is_plain = not (handler.is_async or handler.takes_ack or handler.batch)
        self._is_busy = False
        self._is_closing = False
        self._task: asyncio.Task[None] | None = None

    @property
    def position(self) -> int | None:
        """What may be committed: all before it is done."""
        return self._tracker.position

    @property
    def backlog(self) -> int:
        return self.handed - self._tracker.finished

    @property
    def straggler(self) -> "Future[Any] | None":
        """A call for this partition that may still be at work when the lane is closed."""
        return self._calls.straggler or self._straggler

    @property
    def status(self) -> PartitionStatus:
        return PartitionStatus(
            group=self.handler.group,
            topic=self.place.topic,
            partition=self.place.partition,
            state=self.state,
            position=self.position,
            unfinished=self.backlog,
            dead_letters=self.dead_lettered,
            last_error=self.last_error,
        )

    def start(self) -> None:
        self._thread = threading.get_ident()
        self._task = self._loop.create_task(self._work(), name=f"handler of {self}")

    def add(self, events: Iterable[Event]) -> None:
        for raw in events:
            try:
                self._tracker.begin(raw.offset)
            except ValueError as error:  # The log was cut, or the topic made anew.
                self._stop(error)
                self._is_closing = True
                break
            self._queue.append(delivery(raw, self.handler))
        self._arrived.set()

    async def close(self, grace_s: float) -> None:
        """Let what is being handled come to its end for so long; what is not done is left."""
        if self._task is None:
            return
        self._is_closing = True
        deadline = self._loop.time() + grace_s
        if self._is_busy:
            await asyncio.wait([self._task], timeout=grace_s)
        while self._unacknowledged.keys() - self._refused.keys() and self._loop.time() < deadline:
            await asyncio.sleep(_LOOK_S)
        self._task.cancel()
        await asyncio.wait([self._task], timeout=_CANCEL_S)

    async def _work(self) -> None:
        try:
            if self._straggler is not None:
                await asyncio.wait([asyncio.wrap_future(self._straggler)])
            while not self._is_closing:
                await self._step()
        except _Ended:
            pass
        except Exception as error:  # A bug of ours: the place is kept, and the others go on.
            _log.exception("%s: this should not happen", self)
            self._stop(error)

    async def _step(self) -> None:
        self.state = State.IDLE
        while not self._queue and not self._refused and not self._is_closing:
            self._arrived.clear()
            await self._arrived.wait()
        if self._is_closing:
            return
        if self._refused:
            offset = next(iter(self._refused))
            await self._give_up(self._unacknowledged[offset], self._refused[offset], 1)
        elif (error := self._queue[0].error) is not None:
            await self._give_up(self._queue.popleft(), error, 0)
        elif self._is_plain:
            await self._handle_each(self._waiting())
        else:
            await self._handle(await self._next())

    async def _next(self) -> list[Delivery]:
        """One event, or a batch that ends before one that cannot be decoded."""
        size = self.handler.batch or 1
        try:
            async with asyncio.timeout(self.handler.batch_wait_s):
                while len(self._queue) < size:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            pass
        return self._waiting(size)

    def _waiting(self, size: int = _TRIP_EVENTS) -> list[Delivery]:
        taken: list[Delivery] = []
        while self._queue and self._queue[0].error is None and len(taken) < size:
            taken.append(self._queue.popleft())
        return taken

    async def _handle(self, deliveries: Sequence[Delivery]) -> None:
        error = await self._call(deliveries, 1)
        if error is not None:
            await self._retry(self._left(deliveries), error)

    async def _handle_each(self, deliveries: Sequence[Delivery]) -> None:
        self.state = State.HANDLING
        trip = Trip([delivery.event for delivery in deliveries], lambda: self._is_closing)
        self._is_busy = True
        try:
            error = await self._calls.call_each(trip)
        finally:
            self._is_busy = False
            for done in deliveries[: trip.done]:
                self._finish(done.offset)
        left = deliveries[trip.done :]
        if error is not None:
            self._note(error, left[:1], 1)
        if self._is_closing:
            raise _Ended
        self._queue.extendleft(reversed(left if error is None else left[1:]))
        if error is not None:
            await self._retry(left[:1], error)

    async def _retry(self, deliveries: Sequence[Delivery], error: Exception) -> None:
        last: Exception | None = error
        for attempt in range(1, self.handler.retries + 1):
            if not deliveries:
                return
            self.state = State.RETRYING
            await asyncio.sleep(self.handler.backoff.delay_s(attempt))
            last = await self._call(deliveries, attempt + 1)
            if last is None:
                return
            deliveries = self._left(deliveries)
        if deliveries:
            await self._isolate(deliveries, last or error, self.handler.retries + 1)

    async def _isolate(self, deliveries: Sequence[Delivery], error: Exception, tried: int) -> None:
        """Give up the one event; of several try each half again."""
        if len(deliveries) == 1:
            await self._give_up(deliveries[0], error, tried)
            return
        middle = len(deliveries) // 2
        for half in (deliveries[:middle], deliveries[middle:]):
            half_error = await self._call(half, tried + 1)
            if half_error is not None and (left := self._left(half)):
                await self._isolate(left, half_error, tried + 1)

    async def _call(self, deliveries: Sequence[Delivery], attempt: int) -> Exception | None:
        self.state = State.HANDLING
        events = [delivery.event for delivery in deliveries]
        if self.handler.takes_ack:
            self._unacknowledged |= {it.offset: it for it in deliveries}
        self._is_busy = True
        try:
            error = await self._calls.call(events, Ack(events, self._acknowledge, self._refuse))
        finally:
            self._is_busy = False
        if error is not None:
            self._note(error, deliveries, attempt)
        elif not self.handler.takes_ack:
            for done in deliveries:
                self._finish(done.offset)
        if self._is_closing:
            raise _Ended
        return error

    def _left(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those of a failed call that it has neither acknowledged nor given up itself."""
        left = [
            it
            for it in deliveries
            if self._tracker.is_open(it.offset) and it.offset not in self._refused
        ]
        for one in left:
            self._unacknowledged.pop(one.offset, None)
        return left

    async def _give_up(self, failed: Delivery, error: Exception, attempts: int) -> None:
        if self.handler.on_failure == "stop":
            self._stop(error)
            raise _Ended
        self.state = State.DEAD_LETTERING
        self.last_error = _words(error)
        letter = DeadLetter(
            self.handler.dead_letter, failed.raw, self.handler.group, error, attempts
        )
        self._is_busy = True
        try:
            await self._dead_letters.send(letter)
        except ClusterError as refusal:
            self._stop(refusal)
            raise _Ended from None
        finally:
            self._is_busy = False
        self.dead_lettered += 1
        self._finish(failed.offset)
        _log.error(
            "%s: offset %d is a dead letter in %s after %d attempts: %s",
            *(self, failed.offset, letter.topic, attempts, self.last_error),
        )
        if self._is_closing:
            raise _Ended

    def _stop(self, error: Exception) -> None:
        self.state = State.STOPPED
        self.last_error = _words(error)
        _log.error(
            "%s stops at offset %s: %s; its place is kept: correct the cause, and start again",
            *(self, self.position, self.last_error),
        )

    def _note(self, error: Exception, deliveries: Sequence[Delivery], attempt: int) -> None:
        self.last_error = _words(error)
        _log.warning(
            "%s: attempt %d of %d failed at offset %d (%d events): %s",
            *(self, attempt, self.handler.retries + 1, deliveries[0].offset),
            *(len(deliveries), self.last_error),
            exc_info=error if attempt == 1 else None,
        )

    def _finish(self, offset: int) -> None:
        self._tracker.finish(offset)
        self._unacknowledged.pop(offset, None)
        self._refused.pop(offset, None)

    def _acknowledge(self, offset: int) -> None:
        self._on_loop(self._finish, offset)

    def _refuse(self, offset: int, error: Exception) -> None:
        self._on_loop(self._note_refusal, offset, error)

    def _note_refusal(self, offset: int, error: Exception) -> None:
        if offset in self._unacknowledged:
            self._refused[offset] = error
            self._arrived.set()

    def _on_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        if threading.get_ident() == self._thread:
            call(*arguments)
            return
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:  # The app has ended: the event will be read again.
            _log.warning("%s: an acknowledgement came after the end", self)

    def __str__(self) -> str:
        place = f"{self.place.topic}/{self.place.partition}"
        return f"{place} (group {self.handler.group}, handler {self.handler.name})"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {reason(error)}"
