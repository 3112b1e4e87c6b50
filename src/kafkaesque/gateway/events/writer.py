"""Events on their way into topics: one idempotent producer for all requests, acks=all.

librdkafka reports deliveries in a thread of ours that only polls; whatever one poll has brought
goes to the event loop together, so that a thread is crossed once for many events. Keys are placed
with murmur2. A full queue makes requests wait.

After a fatal error, which `poll` raises, librdkafka sends nothing any more: a new producer takes
over, and the old one is polled until it has nothing left.
Above: write.py. Below: outcomes.py, new_event.py.
"""

import asyncio
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafkaesque.client.connection import Connection
from kafkaesque.gateway.events.new_event import NewEvent
from kafkaesque.gateway.events.outcomes import Outcome, Refused, Written, refused
from kafkaesque.gateway.events.stats import Stats

_ANY_PARTITION = -1
_NOW = 0
_POLL_S = 0.2
_REPLACED_S = 0.01
_QUEUE_BYTES = 64 << 20
_TURN = 500
"""Events that are handed to librdkafka before others have a turn of the loop."""


class _Batch:
    """The events of one request, which are answered together."""

    __slots__ = ("answer", "open", "outcomes")

    def __init__(self, count: int, answer: "asyncio.Future[None]") -> None:
        self.outcomes: list[Outcome] = [_UNSETTLED] * count
        self.open = count
        self.answer = answer

    def settle(self, number: int, outcome: Outcome) -> None:
        self.outcomes[number] = outcome
        self.open -= 1
        if self.open == 0 and not self.answer.done():
            self.answer.set_result(None)


_UNSETTLED = Refused(500, "UNKNOWN_SERVER_ERROR", "it was not sent")
_Report: TypeAlias = tuple[_Batch, int, Outcome]


class EventWriter:
    """Made and used in the event loop; closed once."""

    def __init__(self, connection: Connection, stats: Stats, max_event_bytes: int) -> None:
        self._connection = connection
        self._stats = stats
        self._settings = connection.config(
            partitioner="murmur2_random",
            acks="all",
            enable_idempotence=True,
            linger_ms=0,
            delivery_timeout_ms=int(connection.timeout_s * 1000),
            # The broker knows what is too large for its topic.
            message_max_bytes=1_000_000_000,
            queue_buffering_max_kbytes=max(_QUEUE_BYTES, 4 * max_event_bytes) >> 10,
        )
        self._producer = Producer(self._settings)
        self._retired: list[Producer] = []
        self._reports: list[_Report] = []
        self._loop = asyncio.get_running_loop()
        self._space = asyncio.Event()
        self._is_closing = False
        self._poller = threading.Thread(target=self._poll, name="deliveries", daemon=True)
        self._poller.start()

    async def send(self, topic: str, events: Sequence[NewEvent]) -> list[Outcome]:
        """One outcome for each event, in order."""
        if not events:
            return []
        begun = time.perf_counter()
        batch = _Batch(len(events), self._loop.create_future())
        for number, event in enumerate(events):
            try:
                await self._produce(topic, event, partial(self._note, topic, batch, number))
            except KafkaException as error:
                batch.settle(number, refused(error.args[0], topic, self._connection))
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
        await batch.answer
        self._stats.wrote(batch.outcomes, time.perf_counter() - begun)
        return batch.outcomes

    async def close(self) -> None:
        """What was sent is settled first; a silent cluster is waited for no longer than for it."""
        self._is_closing = True
        await asyncio.to_thread(self._poller.join)
        await asyncio.to_thread(self._producer.flush, self._connection.timeout_s)
        self._settle(self._reports)

    async def _produce(self, topic: str, event: NewEvent, note: Any) -> None:
        while True:
            try:
                self._producer.produce(
                    topic,
                    event.value,
                    event.key,
                    partition=_ANY_PARTITION if event.partition is None else event.partition,
                    headers=list(event.headers),
                    on_delivery=note,
                    timestamp=_NOW if event.timestamp is None else event.timestamp,
                )
            except BufferError:
                self._space.clear()
                await self._space.wait()
            except KafkaException as error:
                if error.args[0].code() != KafkaError._FATAL:
                    raise
                await asyncio.sleep(_REPLACED_S)
            else:
                return

    def _poll(self) -> None:
        while not self._is_closing:
            try:
                self._producer.poll(_POLL_S)
            except KafkaException:
                self._retired.append(self._producer)
                self._producer = Producer(self._settings)
            for producer in self._retired[:]:
                producer.poll(0)
                if len(producer) == 0:
                    self._retired.remove(producer)
            if self._reports:
                reports, self._reports = self._reports, []
                self._loop.call_soon_threadsafe(self._settle, reports)

    def _note(
        self, topic: str, batch: _Batch, number: int, error: KafkaError | None, message: Message
    ) -> None:
        """In the polling thread."""
        if error is None:
            outcome: Outcome = Written(message.partition() or 0, message.offset() or 0)
        else:
            outcome = refused(error, topic, self._connection)
        self._reports.append((batch, number, outcome))

    def _settle(self, reports: list[_Report]) -> None:
        for batch, number, outcome in reports:
            batch.settle(number, outcome)
        self._space.set()
