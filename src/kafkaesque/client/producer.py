"""`Producer`: events into topics, for programs that wait and programs that await.

    with Producer("127.0.0.1:9092") as producer:
        partition, offset = producer.send("ticks", {"price": 3200}, key="AMZN").result()

    async with Producer("127.0.0.1:9092") as producer:
        partition, offset = await producer.send("ticks", {"price": 3200}, key="AMZN")

`send` returns at once; what it returns is waited for, awaited, or left alone. Keys are placed with
murmur2, as Java's clients place them. In an `async with`, `flush` and `close` are awaited. Leaving
the `with` waits until the cluster has everything, and raises what it did not take.
Above: the program. Below: outbox.py, delivery.py, schema_forms/, serde.py.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkaesque.client.connection import Connection
from kafkaesque.client.delivery import Deliveries, Delivery
from kafkaesque.client.logs import warn
from kafkaesque.client.moments import Timestamp, milliseconds
from kafkaesque.client.outbox import Outbox
from kafkaesque.client.profiles import (
    DEFAULT_BROKERS,
    Profile,
    connection_of,
    named,
    producer_config,
)
from kafkaesque.client.schema_forms.forms import close, forms
from kafkaesque.client.schema_forms.options import SchemaOptions, Subject
from kafkaesque.client.serde import Form, encode
from kafkaesque.errors import KafkaError

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

SentHeaders: TypeAlias = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]

# A program that was interrupted waits no longer than this for the cluster.
_PATIENCE_S = 5.0
_MISSING: Any = object()
_NOTHING: dict[str, Any] = {}


class Producer:
    """`topic` is where `send` without one sends. Other keywords are librdkafka's settings."""

    def __init__(
        self,
        brokers: str | Connection = DEFAULT_BROKERS,
        topic: str | None = None,
        *,
        key: Form = "str",
        value: Form = "json",
        schema: Any = None,
        key_schema: Any = None,
        registry: "str | RegistryClient | None" = None,
        subject: Subject | None = None,
        auto_register: bool = True,
        normalize: bool = False,
        use_latest: bool = False,
        profile: Profile = "latency",
        settings: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        self._connection = connection_of(brokers)
        self.topic = topic
        options = SchemaOptions(
            schema, key_schema, registry, subject, auto_register, normalize, use_latest
        )
        self._key, self._value = forms(key, value, options)
        self._key_for, self._value_for = self._key.for_topic, self._value.for_topic
        config = producer_config(self._connection, profile, named(settings, keywords))
        self._outbox = Outbox(self._connection, config)
        self._put = self._outbox.put
        self._awaits = False

    def send(
        self,
        topic: str | None = None,
        value: Any = _MISSING,
        *,
        key: Any = None,
        headers: SentHeaders | None = None,
        partition: int | None = None,
        timestamp: int | datetime | Timestamp | None = None,
    ) -> Delivery:
        """Hand one event over. The key chooses the partition, unless that is given.

        Raises TypeError if key or value cannot be written in their forms, and RegistryError if a
        registry does not take the schema; it is asked at the first event of a topic.
        """
        target = topic if type(topic) is str else self._target(topic)
        if value is _MISSING:
            raise TypeError("send what? Give a value; value=None writes a null, a tombstone")
        value_form = self._value if self._value_for is None else self._value_for(target)
        key_form = self._key if self._key_for is None else self._key_for(target)
        data = None if value is None else encode(value_form, value, "value")
        name = None if key is None else encode(key_form, key, "key")
        delivery = Delivery(self._outbox, target)
        message = (target, data, name, -1 if partition is None else partition, delivery)
        if headers is None and timestamp is None:
            self._put(message, _NOTHING)
        else:
            self._put(message, _more(headers, timestamp))
        return delivery

    def send_many(
        self, topic: str | None, values: Iterable[Any], *, key: Callable[[Any], Any] | Any = None
    ) -> Deliveries:
        """Hand many over. `key` is the key of all, or a function of the value.

        In an `async with` nothing is sent until it is awaited: then values are taken as there is
        room for them.
        """
        sending = (self._send_one(topic, value, key) for value in values)
        return Deliveries(self._outbox, sending, is_lazy=self._awaits)

    def flush(self, timeout: float | None = None) -> Any:
        """Wait until the cluster has answered for everything. Raises what it did not take."""
        return self._either(self._outbox.flush, timeout)

    def close(self, timeout: float | None = None) -> Any:
        """As flush; what is not delivered after `timeout` seconds never will be, and is raised."""
        return self._either(self._close, timeout)

    def __len__(self) -> int:
        """How many events the cluster has not answered for yet."""
        return len(self._outbox)

    def __enter__(self) -> "Producer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(kind)

    async def __aenter__(self) -> "Producer":
        self._awaits = True
        self._put = self._outbox.put_or_line_up
        self._outbox.start_polling()
        await self._ask_registry()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.shield(asyncio.to_thread(self._leave, kind))

    def __repr__(self) -> str:
        where = f" to {self.topic}" if self.topic else ""
        parts = [f"{self._outbox.sent} sent", f"{len(self)} on their way"]
        if self._outbox.is_closed:
            parts = [f"{self._outbox.sent} sent", "closed"]
        if self._outbox.last_error:
            parts.append(f"last error: {self._outbox.last_error}")
        return f"<Producer{where} at {self._connection.bootstrap_servers}: {', '.join(parts)}>"

    async def _ask_registry(self) -> None:
        """What the first event of its topic needs, so that `send` need not hold up the loop."""
        for for_topic in (self._key_for, self._value_for):
            if for_topic is not None and self.topic is not None:
                await asyncio.to_thread(for_topic, self.topic)

    def _target(self, topic: str | None) -> str:
        target = self.topic if topic is None else topic
        if target is None:
            raise TypeError("send where? Give a topic here, or to the Producer")
        if not isinstance(target, str):
            raise TypeError("a topic is a str; with a topic of its own: send(value=…)")
        return target

    def _send_one(self, topic: str | None, value: Any, key: Any) -> Delivery:
        return self.send(topic, value, key=key(value) if callable(key) else key)

    def _either(self, call: Callable[[float | None], None], timeout: float | None) -> Any:
        if self._awaits:
            return asyncio.to_thread(call, timeout)
        call(timeout)
        return None

    def _close(self, timeout: float | None = None) -> None:
        try:
            self._outbox.close(timeout)
        finally:
            close(self._key, self._value)

    def _leave(self, kind: type[BaseException] | None) -> None:
        if kind is None:
            self._close()
            return
        # What is under way in the program matters more than what we have to report.
        interrupted = not issubclass(kind, Exception)
        try:
            self._close(_PATIENCE_S if interrupted else None)
        except KafkaError as failure:
            warn(str(failure))


def _more(
    headers: SentHeaders | None, timestamp: int | datetime | Timestamp | None
) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if headers is not None:
        more["headers"] = list(headers.items() if isinstance(headers, Mapping) else headers)
    if timestamp is not None:
        more["timestamp"] = milliseconds(timestamp)
    return more
