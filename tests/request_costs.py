"""What a request costs: the loop that it holds, in CPU time, and the bytes that stay in flight.

`crowded_requests` makes the worst requests of an API out of its schema: for each array that it has,
at any depth, one request that consists of as many elements of it as fit into a size. So an API that
is added is measured without anybody's doing. `measure` sends one to a broker in this loop and
returns the longest time that a single callback of the loop took. CPU time of this thread, not time
on the wall: whatever else the machine does is not counted. Passes of Python's collector are not
counted either: which callback they fall into is chance, and how long they take goes by the objects
that live, of which a request may have fifty thousand.
"""

import asyncio
import asyncio.events
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import thread_time
from typing import Any
from uuid import UUID

from tests.unit.broker.connections import Client, memory_broker
from tests.wire.client import request_frame

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.connection import MAX_ELEMENTS
from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.codec import encode
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.protocol.schema import Field, Primitive, schema_of

KB, MB = 1 << 10, 1 << 20

MOST = "most"
SIZES = {"1 KB": KB, "1 MB": MB, MOST: 0}
"""Of many a request a megabyte is refused, for it has too many elements: then the worst is the
largest that is not.
"""

_TURNS_AFTER = 2000
"""In which the broker forgets what it was asked."""

_SENSIBLE: dict[str, Any] = {
    # What makes a request get past its first check, or change nothing.
    "acks": -1,
    "timeout_ms": 1000,
    "validate_only": True,
    "allow_auto_topic_creation": False,
    "session_epoch": -1,
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "protocol_type": "consumer",
    "generation_id": -1,
    "max_bytes": MB,
    "partition_max_bytes": MB,
    "response_partition_limit": 2000,
    "resource_type": 2,
    "num_partitions": 1,
    "replication_factor": 1,
    "count": 5,
    "timestamp": 0,
}


@dataclass(frozen=True)
class Cost:
    held_seconds: float
    in_flight: int
    left: int
    answered: bool


def array_paths(cls: type[Any], version: int) -> Iterator[tuple[str, ...]]:
    """Where a message has arrays, at any depth."""
    for field in _present(cls, version):
        if field.is_array:
            yield (field.name,)
        if not isinstance(field.type, Primitive):
            for path in array_paths(field.type, version):
                yield (field.name, *path)


def crowded(cls: type[Any], version: int, path: tuple[str, ...], count: int) -> Any:
    """A message whose array at `path` has so many elements, and every other has one or none."""
    return _message(cls, version, path, count, 0)


def of_size(cls: type[Any], version: int, path: tuple[str, ...], size: int) -> Any:
    few, more = (_size(crowded(cls, version, path, count), version) for count in (100, 1100))
    return crowded(cls, version, path, max(1, (size - few) * 1000 // (more - few) + 100))


def _size(message: object, version: int) -> int:
    return sum(map(len, encode(message, version)))


def _present(cls: type[Any], version: int) -> list[Field]:
    return [field for field in schema_of(cls).fields if field.exists_in(version)]


def _message(cls: type[Any], version: int, path: tuple[str, ...], count: int, number: int) -> Any:
    message = cls()
    for field in _present(cls, version):
        if field.name in _SENSIBLE and not field.is_array:
            setattr(message, field.name, _SENSIBLE[field.name])
        elif path and field.name == path[0]:
            setattr(message, field.name, _crowd(field, version, path[1:], count, number))
        elif not field.is_array and isinstance(field.type, Primitive) and field.tag is None:
            _name(message, field, number)
    return message


def _crowd(field: Field, version: int, path: tuple[str, ...], count: int, number: int) -> Any:
    if not field.is_array:
        assert not isinstance(field.type, Primitive)
        return _message(field.type, version, path, count, number)
    numbers = [number] if path else range(count)
    return [_element(field.type, version, path, count, each) for each in numbers]


def _element(
    kind: Primitive | type[Any], version: int, path: tuple[str, ...], count: int, number: int
) -> Any:
    if not isinstance(kind, Primitive):
        return _message(kind, version, path, count, number)
    return _value(kind, number)


def _value(kind: Primitive, number: int) -> Any:
    if kind.name == "string":
        return f"{number:x}"
    if kind.name in ("bytes", "records"):
        return b"x"
    if kind.name == "uuid":
        return UUID(int=0)
    return number % 100 if kind.name == "int8" else number


def _name(message: Any, field: Field, number: int) -> None:
    """Names that differ; of the first there is a topic."""
    if isinstance(field.type, Primitive) and field.type.name in ("string", "bytes", "records"):
        setattr(message, field.name, _value(field.type, number))
    elif field.name in ("partition", "partition_index", "index"):
        setattr(message, field.name, number)


def crowded_requests(key: int, version: int) -> list[tuple[str, ...]]:
    """By the array that they crowd; a request without arrays has one."""
    return list(array_paths(MESSAGES[key].request, version)) or [()]


def crowded_frame(key: int, version: int, path: tuple[str, ...], size: int) -> bytes:
    request = MESSAGES[key].request
    if not path:
        return request_frame(crowded(request, version, (), 1), version, 1)
    if not size:
        return request_frame(crowded(request, version, path, MAX_ELEMENTS - len(path)), version, 1)
    return request_frame(of_size(request, version, path, size), version, 1)


async def world() -> Broker:
    """A broker that has some of what is asked for: a topic `0` of a hundred partitions."""
    broker = await memory_broker()
    await broker.topics.create(NewTopic("0", 100))
    return broker


class Meter:
    """The longest callback of the loop while it is on."""

    def __init__(self) -> None:
        self.held_seconds = 0.0

    def note(self, began: float) -> None:
        self.held_seconds = max(self.held_seconds, thread_time() - began)


@contextmanager
def metered() -> Iterator[Meter]:
    meter = Meter()
    plain = asyncio.events.Handle._run

    def run(handle: asyncio.events.Handle) -> None:
        began = thread_time()
        plain(handle)
        meter.note(began)

    asyncio.events.Handle._run = run  # type: ignore[assignment, method-assign]
    gc.collect()
    gc.disable()
    try:
        yield meter
    finally:
        gc.enable()
        asyncio.events.Handle._run = plain  # type: ignore[method-assign]


async def measure(broker: Broker, frame: bytes) -> Cost:
    """Send a frame, and wait for what comes of it: an answer, or the end of the connection."""
    client = Client(broker)
    in_flight, sent = 0, 0
    with metered() as meter:
        await asyncio.sleep(0)
        while not (client.wire.sent or client.wire.is_closed):
            if sent < len(frame):
                began = thread_time()
                sent += client.send_bytes(frame[sent : sent + 256 * KB])
                meter.note(began)
            in_flight = max(in_flight, broker.budget.used)
            await asyncio.sleep(0)
        for _ in range(_TURNS_AFTER):
            await asyncio.sleep(0)
        # Before the collector is on again.
        held_seconds = meter.held_seconds
    answered = bool(client.wire.sent)
    client.cut()
    await asyncio.sleep(0)
    return Cost(held_seconds, in_flight, broker.budget.used, answered)
