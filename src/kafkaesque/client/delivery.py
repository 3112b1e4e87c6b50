"""One event on its way to the cluster: a future that is waited for, or awaited, or left alone.

librdkafka calls the delivery itself when the broker has answered. A failure that nobody asks for
is not lost: the outbox keeps it, and `flush` or `close` raises it.
Above: producer.py. Below: outbox.py, failures.py.
"""

import asyncio
import time
from collections.abc import Coroutine, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkaesque.client.failures import kafka_error
from kafkaesque.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkaesque.client.outbox import Outbox

# How long another thread that serves the callbacks may keep us from seeing ours.
_SLICE_S = 0.01
# So many events are sent between two looks at the loop; so often room is looked for.
_TURN = 500
_ROOM_S = 0.001


class Delivered(NamedTuple):
    """Where an event lies."""

    partition: int
    offset: int


class Delivery:
    """What `send` returns. The cluster has the event when `result` does."""

    __slots__ = ("_error", "_future", "_outbox", "offset", "partition", "topic")

    def __init__(self, outbox: "Outbox", topic: str) -> None:
        self._outbox = outbox
        self._error: Any = None
        self._future: asyncio.Future[None] | None = None
        self.topic = topic
        self.partition = -1
        self.offset = -1

    def __call__(self, error: Any, message: Any) -> None:
        """librdkafka's delivery report, in whichever thread polls."""
        if error is None:
            self.offset = message.offset()
            self.partition = message.partition()
            if self._outbox.is_away:
                self._outbox.note_answer()
        else:
            self._error = error
            self._outbox.note_failure(self)
        if self._future is not None:
            self._outbox.wake_later(self._future)

    @property
    def is_done(self) -> bool:
        return self.partition >= 0 or self._error is not None

    @property
    def error(self) -> KafkaError | None:
        """Why it failed, if it did."""
        if self._error is None:
            return None
        return kafka_error(self._error, f"topic {self.topic} did not take the event")

    def result(self, timeout: float | None = None) -> Delivered:
        """Wait for the cluster. Raises KafkaError if it did not take the event."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.is_done:
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"topic {self.topic} has not taken the event in {timeout:g} s")
            self._outbox.poll(_SLICE_S)
        if self._error is not None:
            self._outbox.forget_failure(self)
            error = self.error
            assert error is not None
            raise error
        return Delivered(self.partition, self.offset)

    def __await__(self) -> Generator[Any, None, Delivered]:
        if not self.is_done:
            self._future = asyncio.get_running_loop().create_future()
            self._outbox.start_polling()
            # It may have been delivered before there was a future to wake.
            if not self.is_done:
                yield from self._future.__await__()
        return self.result()

    def __repr__(self) -> str:
        if self._error is not None:
            return f"<Delivery to {self.topic}: failed, {self._error.str()}>"
        if not self.is_done:
            return f"<Delivery to {self.topic}: on its way>"
        return f"<Delivery to {self.topic}: partition {self.partition}, offset {self.offset}>"


class Deliveries(Sequence[Delivery]):
    """What `send_many` returns: the deliveries, in the order in which they are sent.

    `is_lazy`: nothing is sent until it is awaited, and then no more than there is room for.
    """

    def __init__(self, outbox: "Outbox", sending: Iterator[Delivery], is_lazy: bool) -> None:
        self._outbox = outbox
        self._sending = sending
        self._deliveries: list[Delivery] = []
        self._turns: Coroutine[Any, Any, list[Delivered]] | None = None
        if is_lazy:
            # Made here, so that Python warns if it is never awaited.
            self._turns = self._in_turns()
        else:
            self._deliveries.extend(sending)

    def result(self, timeout: float | None = None) -> list[Delivered]:
        """Where each lies. Raises the first KafkaError there is."""
        deadline = None if timeout is None else time.monotonic() + timeout
        return [
            delivery.result(None if deadline is None else max(0.0, deadline - time.monotonic()))
            for delivery in self._deliveries
        ]

    def __await__(self) -> Generator[Any, None, list[Delivered]]:
        return (self._turns or self._in_turns()).__await__()

    def __len__(self) -> int:
        return len(self._deliveries)

    def __getitem__(self, index: Any) -> Any:
        return self._deliveries[index]

    def __repr__(self) -> str:
        done = sum(delivery.is_done for delivery in self._deliveries)
        return f"<Deliveries: {done} of {len(self)} done>"

    async def _in_turns(self) -> list[Delivered]:
        for delivery in self._sending:
            self._deliveries.append(delivery)
            if not len(self) % _TURN:
                await asyncio.sleep(0)
            while self._outbox.is_full:
                await asyncio.sleep(_ROOM_S)
        # Most are done by now: awaiting those would cost as much as sending them.
        return [each.result() if each.is_done else await each for each in self._deliveries]


class UndeliveredError(KafkaError):
    """Events that the cluster did not take, and whose deliveries nobody asked."""

    def __init__(self, deliveries: Sequence[Delivery]) -> None:
        first = deliveries[0].error
        code = ErrorCode.UNKNOWN_SERVER_ERROR if first is None else first.code
        events = "1 event was" if len(deliveries) == 1 else f"{len(deliveries)} events were"
        super().__init__(code, f"{events} not delivered: {first}")
        self.deliveries = tuple(deliveries)
        self.__cause__ = first
