"""`/sse`: subscriptions as Server-Sent Events, for EventSource and curl.

    GET /sse?topic=ticks&key=AMZN&where=value.price>100

One filter, for one topic or several. Every message has an `id` that says where all partitions are
(client/vectors.py), and a client that comes back with it as `Last-Event-ID` goes on there. The
messages `subscribed`, `gap` and `error` are events of those names. Whoever does not want the
default says `from`, `policy`, `buffer` and `decode` as in kafkaesque.v1.
Above: http_client.py. Below: client.py, encodings.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import orjson

from kafkaesque.client.filters import FilterError, parse
from kafkaesque.client.v1 import Decode, GapReason, Policy, Start
from kafkaesque.client.vectors import parse_vector
from kafkaesque.gateway.fanout import encodings
from kafkaesque.gateway.fanout.client import Client, Range
from kafkaesque.gateway.fanout.http_head import BadRequestError, Request, head
from kafkaesque.gateway.fanout.joining import AwayError, Prepared, SubscribeError
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import Wants
from kafkaesque.records.record import Record

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.door import Door

_KNOWN: Final = {
    *("topic", "key", "prefix", "header", "where", "from", "policy", "buffer", "decode"),
    *("access_token", "last_event_id"),
}
_HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "Connection": "close",
}
_RETRY: Final = b"retry: 2000\n\n"


@dataclass(frozen=True, slots=True)
class Query:
    """What a request asks for; `starts` is by topic."""

    topics: tuple[str, ...]
    wants: Wants
    starts: dict[str, Start]
    policy: Policy
    buffer: int | None
    decode: Decode


def query_of(request: Request) -> Query:
    """Raises BadRequestError."""
    given = request.query
    if unknown := given.keys() - _KNOWN:
        raise BadRequestError(400, f"there is no parameter {min(unknown)!r}")
    topics = tuple(dict.fromkeys(given.get("topic", ())))
    if not topics:
        raise BadRequestError(400, "say which topic, as in /sse?topic=ticks")
    resumed = request.headers.get("last-event-id") or _one(given, "last_event_id")
    try:
        return Query(
            topics,
            _wants(given),
            _starts(topics, resumed or _one(given, "from") or "latest"),
            _policy(_one(given, "policy")),
            _buffer(_one(given, "buffer")),
            decode_of(request),
        )
    except FilterError as error:
        raise BadRequestError(400, f"where: {error}") from None
    except ValueError as error:
        raise BadRequestError(400, str(error)) from None


def decode_of(request: Request) -> Decode:
    """Raises BadRequestError."""
    given = request.query.get("decode", [Decode.NONE])
    if len(given) > 1 or given[0] not in list(Decode):
        raise BadRequestError(400, f"decode is one of {', '.join(Decode)}, not {given[-1]!r}")
    return Decode(given[0])


def _one(given: dict[str, list[str]], name: str) -> str | None:
    values = given.get(name, [])
    if len(values) > 1:
        raise ValueError(f"the parameter {name} is there twice")
    return values[0] if values else None


def _wants(given: dict[str, list[str]]) -> Wants:
    keys, prefix, where = given.get("key"), _one(given, "prefix"), _one(given, "where")
    if keys is not None and prefix is not None:
        raise ValueError("give keys or a prefix")
    headers = []
    for header in given.get("header", ()):
        name, equals, value = header.partition("=")
        if not equals:
            raise ValueError(f"{header!r} is not name=value, as in header=source=web")
        headers.append((name, value.encode()))
    return Wants(
        None if keys is None else tuple(dict.fromkeys(key.encode() for key in keys)),
        None if prefix is None else prefix.encode(),
        tuple(headers),
        None if where is None else parse(where),
    )


def _policy(text: str | None) -> Policy:
    if text is None:
        return Policy.DROP_OLDEST
    if text not in list(Policy):
        raise ValueError(f"policy is one of {', '.join(Policy)}, not {text!r}")
    return Policy(text)


def _buffer(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError("buffer is a number of messages")
    return int(text)


def _starts(topics: tuple[str, ...], text: str) -> dict[str, Start]:
    if text == "latest" or text == "earliest":
        return dict.fromkeys(topics, "latest" if text == "latest" else "earliest")
    if text.startswith("@") and text[1:].isascii() and text[1:].isdigit():
        return dict.fromkeys(topics, int(text[1:]))
    try:
        positions = parse_vector(text, topics[0] if len(topics) == 1 else None)
    except ValueError as error:
        raise ValueError(
            f"from is latest, earliest, @ and a time in ms, or offsets as in 0:12,1:7: {error}"
        ) from None
    starts: dict[str, dict[int, int]] = {}
    for place, offset in positions.items():
        starts.setdefault(place.topic, {})[place.partition] = offset
    return {topic: starts.get(topic, "latest") for topic in topics}


class SseClient(Client):
    __slots__ = ("_after", "_before", "_marked", "_positions", "_topics")

    must_answer = False

    def __init__(self, door: "Door", address: str) -> None:
        super().__init__(door, address)
        self._topics: tuple[str, ...] = ()
        self._positions: list[list[int]] = []
        """Where each partition of each subscription goes on."""
        # An id is what stands before the number that changes, that number, and what comes after:
        # a client that wants one key gets all from one partition.
        self._marked = (-1, -1)
        self._before = self._after = ""

    async def begin(self, query: Query, allow_origin: dict[str, str]) -> None:
        """All subscriptions begin at once: an id must have all topics from the first one on."""
        begin = head(200, {**_HEADERS, **allow_origin}) + _RETRY
        decodes = query.decode is Decode.JSON
        try:
            encoder = self.door.decoding.sse if decodes else _encode
            prepared = await self._prepare(query)
        except AwayError as error:
            # After any other status a browser would not come back.
            self.write(begin)
            self.end(1013, str(error))
            return
        except SubscribeError as error:
            self.write_now(BadRequestError(404, str(error), allow_origin).response())
            self.end(1008, "")
            return
        self._topics = query.topics
        self.write(begin)
        for number, each in enumerate(prepared):
            subscription = self.door.joining.join(
                each, number, self, encoder, query.policy, query.buffer, decodes
            )
            position = subscription.stream.position(subscription)
            self._positions.append([position[partition] for partition in sorted(position)])
            self.welcome(subscription)
        self._write_event("subscribed", {"topics": query.topics})
        self.flush()

    async def _prepare(self, query: Query) -> list[Prepared]:
        joining = self.door.joining
        while True:
            prepared = [
                await joining.prepare(topic, query.wants, query.starts[topic])
                for topic in query.topics
            ]
            if all(map(joining.is_current, prepared)):
                return prepared

    def send(self, subscription: Subscription, data: bytes, partition: int, offset: int) -> None:
        self._mark(subscription, partition, offset + 1)
        super().send(subscription, self._id() + data, partition, offset)

    def tell_gap(
        self,
        subscription: Subscription,
        reason: GapReason,
        missed: int | None,
        ranges: Sequence[Range],
    ) -> None:
        for partition, _, last in ranges:
            self._mark(subscription, partition, last + 1)
        topic = subscription.stream.topic
        self._write_event(
            "gap", {"topic": topic, "reason": reason, "missed": missed, "ranges": ranges}
        )

    def ping(self) -> None:
        """An id without data: the client learns where all partitions are, and shows nothing."""
        if self.is_slow:
            return
        for subscription in self.subscriptions.values():
            for partition, offset in subscription.stream.position(subscription).items():
                self._mark(subscription, partition, offset)
        self.write_now(self._id() + b"\n")

    def data_received(self, data: bytes) -> None:
        """There is nothing to say for a client."""

    def farewell(self, code: int, reason: str) -> bytes:
        if not reason:
            return b""
        return b"event: closing\ndata: " + orjson.dumps({"reason": reason}) + b"\n\n"

    def _write_event(self, name: str, fields: dict[str, object]) -> None:
        self.write(
            self._id() + f"event: {name}\n".encode() + b"data: " + orjson.dumps(fields) + b"\n\n"
        )

    def _mark(self, subscription: Subscription, partition: int, offset: int) -> None:
        positions = self._positions[subscription.id]
        if partition >= len(positions):  # The topic has grown.
            positions += [0] * (partition + 1 - len(positions))
            self._marked = (-1, -1)
        positions[partition] = offset
        if self._marked != (subscription.id, partition):
            self._marked = subscription.id, partition
            self._render(subscription.id, partition)

    def _render(self, number: int, partition: int) -> None:
        marks: list[str] = []
        at = 0
        for each, positions in enumerate(self._positions):
            name = f"{self._topics[each]}/" if len(self._topics) > 1 else ""
            if each == number:
                at = len(marks) + partition
            marks += [f"{name}{p}:{offset}" for p, offset in enumerate(positions)]
        own = marks[at].rpartition(":")[0]
        self._before = ",".join([*marks[:at], f"{own}:"])
        self._after = "".join(f",{mark}" for mark in marks[at + 1 :])

    def _id(self) -> bytes:
        if self._marked == (-1, -1):
            self._marked = 0, 0
            self._render(0, 0)
        number, partition = self._marked
        return f"id: {self._before}{self._positions[number][partition]}{self._after}\n".encode()


def _encode(_subscription: int, topic: str, partition: int, record: Record) -> bytes:
    return encodings.sse(topic, partition, record)
