"""A whole request without sockets: bytes into a Connection, through its API and the log, and out.

The broker is in memory, or on disk with `write.caching`: in both the answer is there at once, and
no thread or timer is part of the figure.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.micro.case import Case, Operation
from tests.wire.client import Dialogue
from tests.wire.requests import batch, produce, produce_answer

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.connection import Connection
from kafkaesque.broker.server import wall_clock
from kafkaesque.broker.topics import NewTopic, Topic
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

_PRODUCE_VERSION = 10
_FETCH_VERSION = 16
_LISTENER = Listener("127.0.0.1", 9092)


class _Sink(asyncio.Transport):
    """A client that takes everything; it keeps the last answer."""

    def __init__(self) -> None:
        super().__init__()
        self._last: Iterable[Any] = ()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        """On a busy machine, its turn may be over. What it sends is taken all the same."""

    def resume_reading(self) -> None:
        pass

    def write(self, data: Any) -> None:
        self._last = [data]

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self._last = list_of_data

    def frame(self) -> bytes:
        """What was answered last, without its length."""
        return b"".join(map(bytes, self._last))[4:]


@asynccontextmanager
async def _topic(on_disk: bool) -> AsyncIterator[tuple[Broker, Topic]]:
    with tempfile.TemporaryDirectory() as directory:
        data_dir = Path(directory) / "data" if on_disk else None
        broker = await Broker.open(BrokerConfig.of([_LISTENER], data_dir, {}), wall_clock)
        new = NewTopic("orders", 1, {"write.caching": "true"})
        yield broker, await broker.topics.create(new)
        await broker.close()


def _asking(broker: Broker, request: object, version: int) -> tuple[Operation, Callable[[], Any]]:
    """An operation that asks, and one that asks and decodes the answer."""
    sink, dialogue = _Sink(), Dialogue()
    connection = Connection(broker, _LISTENER, set())
    connection.connection_made(sink)
    frame = dialogue.request(request, version)
    size = len(frame)

    def ask() -> None:
        connection.get_buffer(size)[:size] = frame
        connection.buffer_updated(size)

    def answer() -> Any:
        ask()
        return dialogue.response(sink.frame())

    return ask, answer


@asynccontextmanager
async def _produce(size: int, on_disk: bool) -> AsyncIterator[Operation]:
    async with _topic(on_disk) as (broker, topic):
        request = produce(topic.name, 0, batch([bytes(size)]))
        ask, answer = _asking(broker, request, _PRODUCE_VERSION)
        _require(produce_answer(answer()).error_code == 0)
        yield ask


@asynccontextmanager
async def _fetch(size: int, on_disk: bool) -> AsyncIterator[Operation]:
    async with _topic(on_disk) as (broker, topic):
        topic.partition(0).append(memoryview(batch([bytes(size)])))
        wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            topics=[FetchTopic(topic_id=topic.id, partitions=[wanted])],
        )
        ask, answer = _asking(broker, request, _FETCH_VERSION)
        _require(len(answer().responses[0].partitions[0].records) > size)
        yield ask


def _require(is_answered: bool) -> None:
    if not is_answered:
        raise RuntimeError("the request that is to be measured was refused")


CASES = [
    Case(f"connection: {name}, {'disk' if on_disk else 'memory'}", partial(prepare, size, on_disk))
    for name, prepare, size in (
        ("Produce 100 B", _produce, 100),
        ("Produce 64 KB", _produce, 65_536),
        ("Fetch 100 B", _fetch, 100),
        ("Fetch 64 KB", _fetch, 65_536),
    )
    for on_disk in (False, True)
]
