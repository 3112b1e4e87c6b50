"""`HttpConsumer`: the events of topics through a gateway, for programs that wait or await.

    for event in HttpConsumer("ticks", "http://127.0.0.1:8082"):
        ...
    async for event in HttpConsumer("ticks", where="value.price > 100"):
        ...

A connection that breaks is made anew, with growing pauses, and goes on where it was: nothing is
missing, nothing comes twice. `vector` says where that is; given to a new consumer as `resume` it
goes on there. What retention has removed before it was read is told to `on_gap`, or logged.
Above: the program. Below: track.py, answers.py, attempts.py.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

import httpx
from httpx_sse import EventSource, ServerSentEvent

from kafkaesque.client.http.answers import DEFAULT_URL, headers_of, refusal
from kafkaesque.client.http.attempts import Pauses
from kafkaesque.client.http.track import Away, End, Gap, OnGap, Start, Track, parameters, start_text
from kafkaesque.client.logs import warn
from kafkaesque.client.serde import DecodeEventError, Form, serde
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

OnError: TypeAlias = Literal["raise", "skip"] | Callable[[DecodeEventError], None]

_SSE = "text/event-stream"
# A gateway that has nothing to say says so more often than this: else the connection is dead.
_SILENCE_S = 60.0
_CONNECT_S = 10.0
_PASSING = {
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
}


class HttpConsumer:
    """`keys`, `prefix` and `where` choose events at the gateway; the rest is as in `Consumer`."""

    def __init__(
        self,
        topics: str | Iterable[str],
        url: str = DEFAULT_URL,
        *,
        start: Start = "earliest",
        resume: str | None = None,
        until: Literal["end"] | None = None,
        timeout: float | None = None,
        keys: Iterable[str] | None = None,
        prefix: str | None = None,
        where: str | None = None,
        on_error: OnError = "raise",
        on_gap: OnGap | None = None,
        key: Form = "str",
        value: Form = "json",
        token: str | None = None,
    ) -> None:
        self.topics = (topics,) if isinstance(topics, str) else tuple(topics)
        self.url = url.rstrip("/")
        self._parameters = parameters(
            start_text(start, self.topics), until=until, keys=keys, prefix=prefix, where=where
        )
        self._headers = {"accept": _SSE, "cache-control": "no-store", **headers_of(token)}
        self._timeout = timeout
        self._on_error = on_error
        self._on_gap = on_gap
        self._track = Track(self.topics, serde(key), serde(value))
        self._track.vector = resume
        self._pauses = Pauses()
        self._quiet_since = time.monotonic()
        self._is_over = False
        self._is_away = False

    @property
    def vector(self) -> str | None:
        """Where to go on after the last event handed out; None before the gateway has answered."""
        return self._track.vector

    @property
    def position(self) -> dict[TopicPartition, int]:
        """The same, by partition."""
        return self._track.position

    def stop(self) -> None:
        """End the iteration with the next thing that the gateway says."""
        self._is_over = True

    def __iter__(self) -> Iterator[Event]:
        self._begin()
        with httpx.Client(timeout=self._timeouts) as client:
            while not self._is_over:
                try:
                    with client.stream("GET", self._address, **self._request) as response:
                        if self._is_refused(response):
                            response.read()
                            self._note_loss(refusal(response))
                        else:
                            for message in EventSource(response).iter_sse():
                                event = self._take(message)
                                if event is not None:
                                    yield event
                                if self._is_over:
                                    return
                except httpx.TransportError as error:
                    self._note_loss(error)
                if not self._is_over:
                    time.sleep(self._pauses.next_s())

    async def __aiter__(self) -> AsyncIterator[Event]:
        self._begin()
        async with httpx.AsyncClient(timeout=self._timeouts) as client:
            while not self._is_over:
                try:
                    async with client.stream("GET", self._address, **self._request) as response:
                        if self._is_refused(response):
                            await response.aread()
                            self._note_loss(refusal(response))
                        else:
                            async for message in EventSource(response).aiter_sse():
                                event = self._take(message)
                                if event is not None:
                                    yield event
                                if self._is_over:
                                    return
                except httpx.TransportError as error:
                    self._note_loss(error)
                if not self._is_over:
                    await asyncio.sleep(self._pauses.next_s())

    def __repr__(self) -> str:
        where = f", at {self.vector}" if self.vector else ""
        return f"<HttpConsumer of {', '.join(self.topics)}: {self._track.count} events{where}>"

    @property
    def _address(self) -> str:
        return f"{self.url}/topics/{','.join(self.topics)}/events"

    @property
    def _request(self) -> dict[str, Any]:
        vector = self._track.vector
        resume = {} if vector is None else {"last-event-id": vector}
        return {"params": self._parameters, "headers": {**self._headers, **resume}}

    @property
    def _timeouts(self) -> httpx.Timeout:
        read_s = _SILENCE_S if self._timeout is None else min(_SILENCE_S, self._timeout)
        return httpx.Timeout(_CONNECT_S, read=read_s)

    def _begin(self) -> None:
        self._is_over = False
        self._quiet_since = time.monotonic()

    def _is_refused(self, response: httpx.Response) -> bool:
        content_type: str = response.headers.get("content-type", "")
        return content_type.partition(";")[0].strip() != _SSE

    def _take(self, message: ServerSentEvent) -> Event | None:
        self._pauses.begin_again()
        if self._is_away:
            self._is_away = False
            warn(f"the gateway at {self.url} is back")
        item = self._track.take(message)
        if isinstance(item, Event):
            self._quiet_since = time.monotonic()
            return item
        if isinstance(item, DecodeEventError):
            self._quiet_since = time.monotonic()
            self._refuse_event(item)
        elif isinstance(item, Gap):
            self._tell_gap(item)
        elif isinstance(item, Away):
            raise httpx.ReadError("its cluster is away")
        elif isinstance(item, End) or self._is_quiet:
            self._is_over = True
        return None

    @property
    def _is_quiet(self) -> bool:
        return self._timeout is not None and time.monotonic() - self._quiet_since >= self._timeout

    def _note_loss(self, failure: Exception) -> None:
        """Raises what will not pass."""
        if isinstance(failure, KafkaError) and failure.code not in _PASSING:
            raise failure
        if self._is_quiet:
            self._is_over = True
        elif not self._is_away and not isinstance(failure, httpx.RemoteProtocolError):
            self._is_away = True
            warn(
                f"the gateway at {self.url} is away ({failure}); events will go on when it is back"
            )

    def _refuse_event(self, refused: DecodeEventError) -> None:
        if self._on_error == "raise":
            raise refused
        if callable(self._on_error):
            self._on_error(refused)

    def _tell_gap(self, gap: Gap) -> None:
        if self._on_gap is not None:
            self._on_gap(gap)
            return
        warn(
            f"offsets {gap.first} to {gap.last} of {gap.topic}-{gap.partition} are missing "
            f"({gap.reason}): they were removed before they were read"
        )
