"""`Table`: the latest value of each key of a topic, kept up to date by a thread of its own.

    with Table("prices", key="str", value="json") as prices:
        prices["AMZN"]

The topic is read from its beginning, compacted or not; a null deletes its key. Entering the `with`
returns when everything written before is in. A broker that goes away is waited for. What stops the
reading (an event that does not decode, a topic that is deleted) is raised by every look at the
table, because from then on its values would be old. Above: the program. Below: consumer.py.
"""

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkaesque.client.connection import Connection
from kafkaesque.client.consumer import Consumer, OnError
from kafkaesque.client.profiles import DEFAULT_BROKERS, Profile
from kafkaesque.client.serde import Form
from kafkaesque.errors import KafkaError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

_LOOK_S = 0.1

_Ends: TypeAlias = dict[TopicPartition, int]


class Updates:
    """Every event from now on, of which the table has the value when it is handed out."""

    def __init__(self, table: "Table") -> None:
        self._table = table
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def put(self, event: Event) -> None:
        self._events.put(event)

    def __iter__(self) -> Iterator[Event]:
        while self._table.is_live or not self._events.empty():
            try:
                yield self._events.get(timeout=_LOOK_S)
            except queue.Empty:
                self._table.require_sound()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while self._table.is_live or not self._events.empty():
            try:
                yield self._events.get_nowait()
            except queue.Empty:
                self._table.require_sound()
                await asyncio.sleep(_LOOK_S / 10)

    def close(self) -> None:
        self._table.forget(self)


class Table(Mapping[Any, Any]):
    """`on_update` is called in the table's thread with each event after it has been applied."""

    def __init__(
        self,
        topic: str,
        brokers: str | Connection = DEFAULT_BROKERS,
        *,
        key: Form = "str",
        value: Form = "json",
        schema: Any = None,
        key_schema: Any = None,
        registry: "str | RegistryClient | None" = None,
        on_update: Callable[[Event], None] | None = None,
        on_error: OnError = "raise",
        timeout: float | None = 60.0,
        profile: Profile = "latency",
        settings: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        self.topic = topic
        self._on_update = on_update
        self._timeout = timeout
        self._values: dict[Any, Any] = {}
        self._watchers: list[Updates] = []
        self._questions: list[_Ends] = []
        self._changed = threading.Condition()
        self._failure: Exception | None = None
        self._is_closed = False
        self._consumer = Consumer(
            topic,
            brokers,
            until="end",
            key=key,
            value=value,
            schema=schema,
            key_schema=key_schema,
            registry=registry,
            on_error=on_error,
            profile=profile,
            settings=settings,
            **keywords,
        )
        self._thread = threading.Thread(target=self._run, name=f"table of {topic}", daemon=True)

    @property
    def is_live(self) -> bool:
        return self._thread.is_alive() and not self._is_closed

    @property
    def position(self) -> dict[TopicPartition, int]:
        return self._consumer.position

    def start(self) -> None:
        """Begin to read, without waiting until what is there is in."""
        self._thread.start()

    def wait_until_caught_up(self, timeout: float | None = None) -> None:
        """Until everything is in that was written before this call. Raises TimeoutError."""
        deadline = None if timeout is None else time.monotonic() + timeout
        question: _Ends = {}
        self._questions.append(question)
        # Its thread alone may ask the cluster.
        self._consumer.stop()
        with self._changed:
            while not question or not self._has_reached(question):
                self.require_sound()
                if self._is_closed or (deadline is not None and time.monotonic() >= deadline):
                    raise TimeoutError(f"the table of {self.topic} has not caught up")
                self._changed.wait(_LOOK_S)

    def updates(self) -> Updates:
        """The events from now on, to iterate over with `for` or `async for`."""
        updates = Updates(self)
        self._watchers = [*self._watchers, updates]
        return updates

    def forget(self, updates: Updates) -> None:
        self._watchers = [each for each in self._watchers if each is not updates]

    def require_sound(self) -> None:
        """Raises what has stopped the reading."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        self._is_closed = True
        self._consumer.stop()
        if self._thread.ident is None:
            self._consumer.close()
        else:
            self._thread.join()

    def __getitem__(self, key: Any) -> Any:
        self.require_sound()
        return self._values[key]

    def __iter__(self) -> Iterator[Any]:
        self.require_sound()
        # A copy: the thread goes on.
        return iter(list(self._values))

    def __len__(self) -> int:
        self.require_sound()
        return len(self._values)

    def __enter__(self) -> "Table":
        self.start()
        try:
            self.wait_until_caught_up(self._timeout)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> "Table":
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        parts = [f"{len(self._values)} keys"]
        parts += [f"{place} at {offset}" for place, offset in sorted(self.position.items())]
        if self._failure is not None:
            parts.append(f"stopped: {self._failure}")
        elif self._is_closed:
            parts.append("closed")
        return f"<Table of {self.topic}: {', '.join(parts)}>"

    def _run(self) -> None:
        try:
            with self._consumer:
                self._consumer.go_on()
                while not self._is_closed:
                    self._answer()
                    for event in self._consumer:
                        self._apply(event)
        except Exception as error:
            self._failure = error
        finally:
            self._tell()

    def _apply(self, event: Event) -> None:
        if event.value is None:
            self._values.pop(event.key, None)
        else:
            self._values[event.key] = event.value
        if self._on_update is not None:
            self._on_update(event)
        for updates in self._watchers:
            updates.put(event)

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _answer(self) -> None:
        """Say where the partitions end now, to those who wait for that."""
        if not self._questions:
            return
        try:
            ends = self._consumer.ends()
        except KafkaError:
            ends = {}
        if ends:
            while self._questions:
                self._questions.pop().update(ends)
        else:  # Nobody answers: ask again.
            self._consumer.stop()
            time.sleep(_LOOK_S)

    def _has_reached(self, ends: _Ends) -> bool:
        reached = self._consumer.reached
        return all(reached.get(place, 0) >= end for place, end in ends.items())
