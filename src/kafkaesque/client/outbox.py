"""Events that wait for the cluster: librdkafka's queue, and whoever serves its reports.

Reports are served by whoever waits: a sender now and then, `result`, `flush`. A program that
awaits has a thread for it, started when it is first needed, which wakes the loop once for all
reports of a poll. A full queue holds up a program that waits; for one that awaits, events line up
here, in order, until there is room. Failures that nobody has asked for are kept for `flush`.
Above: producer.py, delivery.py. Below: confluent-kafka.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

import confluent_kafka
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from kafkaesque.client.absence import Absence
from kafkaesque.client.connection import Connection
from kafkaesque.client.delivery import Delivery, UndeliveredError
from kafkaesque.client.failures import kafka_error
from kafkaesque.client.logs import chained, warn
from kafkaesque.client.profiles import made
from kafkaesque.errors import ErrorCode, KafkaError

_SERVE_EVERY = 64
_POLL_S = 0.1


Message: TypeAlias = tuple[str, bytes | None, bytes | None, int, Delivery]
"""What `produce` takes, in its order: topic, value, key, partition, and whom to report to."""

More: TypeAlias = dict[str, Any]
"""Headers and timestamp, where they are given."""


class Outbox:
    def __init__(self, connection: Connection, config: dict[str, Any]) -> None:
        self.last_error: str | None = None
        self.is_away = False
        self._absence = Absence(connection, warn, "events will be sent when something does")
        config = config | {"error_cb": chained(self._note, config.get("error_cb"))}
        self._client: Any = made(confluent_kafka.Producer, config)
        self._failures: dict[int, Delivery] = {}
        self._waiting: deque[tuple[Message, More]] = deque()
        self._woken: deque[asyncio.Future[None]] = deque()
        self._poller: threading.Thread | None = None
        self.is_closed = False
        self.sent = 0

    def __len__(self) -> int:
        """Events that the cluster has not answered for yet."""
        return len(self._waiting) + len(self._client)

    @property
    def is_full(self) -> bool:
        return bool(self._waiting)

    def put(self, message: Message, more: More) -> None:
        """Wait while the queue is full. Raises KafkaError for what can be refused at once."""
        while not self._produce(message, more):
            self.poll(_POLL_S)
        if not self.sent % _SERVE_EVERY:
            self._serve(self._client.poll, 0)

    def put_or_line_up(self, message: Message, more: More) -> None:
        """Never wait: while the queue is full, events stand in line here."""
        if self._waiting or not self._produce(message, more):
            self._waiting.append((message, more))

    def _produce(self, message: Message, more: More) -> bool:
        """False: the queue is full."""
        if self.is_closed:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the producer is closed: make a new one")
        try:
            if more:
                self._client.produce(*message, **more)
            else:
                self._client.produce(*message)
        except BufferError:
            return False
        except KafkaException as error:
            what = f"topic {message[0]} did not take the event"
            raise kafka_error(error.args[0], what) from error
        self.sent += 1
        return True

    def poll(self, timeout_s: float) -> None:
        """Serve what reports there are; wait for the first."""
        self._serve(self._client.poll, timeout_s)
        self._wake()

    def start_polling(self) -> None:
        if self._poller is None:
            self._poller = threading.Thread(
                target=self._poll_on, name="kafkaesque producer", daemon=True
            )
            self._poller.start()

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait for all. Raises what failed meanwhile, and TimeoutError if it takes too long."""
        left = self._drain(timeout_s)
        if left:
            raise TimeoutError(f"{left} events are not delivered yet after {timeout_s:g} s")
        self._raise_failures()

    def close(self, timeout_s: float | None = None) -> None:
        """Wait for all, give up what is left after `timeout_s`, and raise what failed."""
        if self.is_closed:
            return
        try:
            self._drain(timeout_s)
        finally:
            # Left by Ctrl-C, too: then nothing more is sent behind the program's back.
            self.is_closed = True
            if self._poller is not None:
                self._poller.join()
            self._give_up()
        self._raise_failures()

    def note_failure(self, delivery: Delivery) -> None:
        self._failures[id(delivery)] = delivery
        self.last_error = str(delivery.error)

    def forget_failure(self, delivery: Delivery) -> None:
        self._failures.pop(id(delivery), None)

    def wake_later(self, future: "asyncio.Future[None]") -> None:
        self._woken.append(future)

    def _drain(self, timeout_s: float | None) -> int:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while len(self) and (deadline is None or time.monotonic() < deadline):
            self._serve(self._client.flush, _POLL_S)
            self._wake()
        return len(self)

    def _give_up(self) -> None:
        while self._waiting:
            message, _ = self._waiting.popleft()
            message[-1](ClientError(ClientError._PURGE_QUEUE), None)
        self._client.purge()
        self._serve(self._client.flush, _POLL_S)
        self._wake()

    def _raise_failures(self) -> None:
        failures = list(self._failures.values())
        for delivery in failures:
            self.forget_failure(delivery)
        if failures:
            raise UndeliveredError(failures)

    def _poll_on(self) -> None:
        while not self.is_closed:
            self.poll(_POLL_S if not self._waiting else 0.005)
            self._advance()

    def _advance(self) -> None:
        """Send what stands in line, as far as there is room; it leaves the line when it is sent."""
        while self._waiting:
            message, more = self._waiting[0]
            try:
                if not self._produce(message, more):
                    return
            except KafkaError as error:
                message[-1](error.__cause__.args[0] if error.__cause__ else error, None)
            self._waiting.popleft()

    def _serve(self, call: Callable[[float], object], timeout_s: float) -> None:
        try:
            call(timeout_s)
        except KafkaException as error:
            # A fatal one: librdkafka sends nothing more, and reports each event as failed.
            self._note(error.args[0])

    def _wake(self) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
        # Another thread may take from it at the same time.
        while self._woken:
            future = self._woken.popleft()
            loops.setdefault(future.get_loop(), []).append(future)
        for loop, futures in loops.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, futures)

    def note_answer(self) -> None:
        self.is_away = False
        self._absence.end()

    def _note(self, error: ClientError) -> None:
        self.last_error = error.str()
        self.is_away = True
        self._absence.note(error)


def _settle(futures: "list[asyncio.Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
