"""`HttpProducer`: events into topics through a gateway.

    with HttpProducer("http://127.0.0.1:8082") as producer:
        partition, offset = producer.send("ticks", {"price": 3200}, key="AMZN").result()

    async with HttpProducer("http://127.0.0.1:8082") as producer:
        partition, offset = await producer.send("ticks", {"price": 3200}, key="AMZN")

A program that waits has the event written when `send` returns, and gets its errors from there. For
one that awaits, `send` returns at once. A gateway that is away is tried again for `timeout` s. A
connection that breaks after a request was sent is an error: nobody knows whether the event is
written, and sending it again could write it twice.
Above: the program. Below: answers.py, client/serde.py, client/event_json.py.
"""

import asyncio
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypeVar

import httpx
import orjson

from kafkaesque.client.event_json import json_of
from kafkaesque.client.http.answers import (
    DEFAULT_URL,
    NotAllWrittenError,
    Written,
    headers_of,
    results_of,
)
from kafkaesque.client.http.attempts import Attempts
from kafkaesque.client.moments import Timestamp, milliseconds
from kafkaesque.client.serde import Form, encode, serde
from kafkaesque.errors import KafkaError

T = TypeVar("T")
SentHeaders: TypeAlias = Mapping[str, str | bytes | None] | Iterable[tuple[str, str | bytes | None]]

Results: TypeAlias = list[Written | KafkaError]

_MANY = 500
"""Events in one request of `send_many`."""
# An idle connection is given up before the gateway might.
_LIMITS = httpx.Limits(max_keepalive_connections=20, keepalive_expiry=30.0)


class HttpDelivery(Generic[T]):
    """What `send` returns: done already, or to be awaited."""

    def __init__(self, result: "T | asyncio.Task[T]") -> None:
        self._result = result
        self.is_asked = False

    def result(self) -> T:
        """Where it lies, if that is known."""
        self.is_asked = True
        if isinstance(self._result, asyncio.Task):
            if not self._result.done():
                raise RuntimeError("it is on its way: await it")
            done: T = self._result.result()
            return done
        return self._result

    def __await__(self) -> Generator[Any, None, T]:
        self.is_asked = True
        if isinstance(self._result, asyncio.Task):
            yield from asyncio.wait({self._result}).__await__()
        return self.result()


class HttpProducer:
    """`topic` is where `send` without one sends."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        topic: str | None = None,
        *,
        key: Form = "str",
        value: Form = "json",
        token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.url = url.rstrip("/")
        self.topic = topic
        self.sent = 0
        self._key = serde(key)
        self._value = serde(value)
        self._headers = {"content-type": "application/json", **headers_of(token)}
        self._timeout = timeout
        self._client: httpx.Client | None = None
        self._async_client: httpx.AsyncClient | None = None
        self._on_their_way: list[HttpDelivery[Any]] = []

    def send(
        self,
        topic: str | None = None,
        value: Any = None,
        *,
        key: Any = None,
        headers: SentHeaders | None = None,
        partition: int | None = None,
        timestamp: int | datetime | Timestamp | None = None,
    ) -> HttpDelivery[Written]:
        """One event; the key chooses the partition, unless that is given. None is a null."""
        event = self._event(value, key, headers, partition, timestamp)
        return self._deliver(self._address(topic), iter([orjson.dumps(event)]), _only)

    def send_many(
        self, topic: str | None, values: Iterable[Any], *, key: Callable[[Any], Any] | Any = None
    ) -> HttpDelivery[list[Written]]:
        """Many, in order. `key` is the key of all, or a function of the value.

        Raises NotAllWrittenError if some were refused.
        """
        return self._deliver(self._address(topic), self._parts(values, key), _all)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    async def aclose(self) -> None:
        """Waits for what is on its way, and raises an error that nobody has asked for."""
        assert self._async_client is not None
        try:
            for delivery in self._on_their_way[:]:
                if not delivery.is_asked:
                    await delivery
        finally:
            await self._async_client.aclose()

    def __enter__(self) -> "HttpProducer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> "HttpProducer":
        self._async_client = httpx.AsyncClient(
            headers=self._headers, timeout=self._timeout, limits=_LIMITS
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        where = f" to {self.topic}" if self.topic else ""
        return f"<HttpProducer{where} at {self.url}: {self.sent} sent>"

    def _deliver(
        self, address: str, bodies: Iterator[bytes], result: Callable[[Results], T]
    ) -> HttpDelivery[T]:
        if self._async_client is None:
            found = [each for body in bodies for each in self._post(address, body)]
            return HttpDelivery(self._counted(found, result))
        task = asyncio.create_task(self._post_all(self._async_client, address, bodies, result))
        delivery = HttpDelivery[T](task)
        self._on_their_way.append(delivery)
        task.add_done_callback(lambda done: self._forget(delivery, done))
        return delivery

    def _post(self, address: str, body: bytes) -> Results:
        if self._client is None:
            self._client = httpx.Client(
                headers=self._headers, timeout=self._timeout, limits=_LIMITS
            )
        attempts = Attempts(self.url, self._timeout)
        while True:
            try:
                response = self._client.post(address, content=body)
            except httpx.TransportError as error:
                time.sleep(attempts.after_failure(error))
                continue
            pause_s = attempts.after(response)
            if pause_s is None:
                return results_of(response)
            time.sleep(pause_s)

    async def _post_all(
        self,
        client: httpx.AsyncClient,
        address: str,
        bodies: Iterator[bytes],
        result: Callable[[Results], T],
    ) -> T:
        found: Results = []
        for body in bodies:
            found += await self._post_async(client, address, body)
        return self._counted(found, result)

    async def _post_async(self, client: httpx.AsyncClient, address: str, body: bytes) -> Results:
        attempts = Attempts(self.url, self._timeout)
        while True:
            try:
                response = await client.post(address, content=body)
            except httpx.TransportError as error:
                await asyncio.sleep(attempts.after_failure(error))
                continue
            pause_s = attempts.after(response)
            if pause_s is None:
                return results_of(response)
            await asyncio.sleep(pause_s)

    def _counted(self, found: Results, result: Callable[[Results], T]) -> T:
        self.sent += sum(isinstance(each, Written) for each in found)
        return result(found)

    def _forget(self, delivery: HttpDelivery[T], done: "asyncio.Task[T]") -> None:
        """A failure is kept until somebody asks for it."""
        if done.cancelled() or done.exception() is None:
            self._on_their_way.remove(delivery)

    def _address(self, topic: str | None) -> str:
        target = topic or self.topic
        if target is None:
            raise TypeError("send where? Give a topic here, or to the HttpProducer")
        return f"{self.url}/topics/{target}/events"

    def _event(
        self,
        value: Any,
        key: Any,
        headers: SentHeaders | None = None,
        partition: int | None = None,
        timestamp: int | datetime | Timestamp | None = None,
    ) -> dict[str, Any]:
        event: dict[str, Any] = {
            "key": json_of(encode(self._key, key, "key")),
            "value": json_of(encode(self._value, value, "value")),
        }
        if headers is not None:
            pairs = headers.items() if isinstance(headers, Mapping) else headers
            event["headers"] = [
                [name, json_of(data) if isinstance(data, bytes) else data] for name, data in pairs
            ]
        if partition is not None:
            event["partition"] = partition
        if timestamp is not None:
            event["timestamp"] = milliseconds(timestamp)
        return event

    def _parts(self, values: Iterable[Any], key: Any) -> Iterator[bytes]:
        events = (
            self._event(value, key(value) if callable(key) else key) for value in iter(values)
        )
        while part := list(islice(events, _MANY)):
            yield orjson.dumps(part)


def _only(results: Results) -> Written:
    (result,) = results
    if isinstance(result, KafkaError):
        raise result
    return result


def _all(results: Results) -> list[Written]:
    written = [each for each in results if isinstance(each, Written)]
    if len(written) < len(results):
        raise NotAllWrittenError(results)
    return written
