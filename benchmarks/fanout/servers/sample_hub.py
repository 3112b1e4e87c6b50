"""The sample's pattern: a queue and a task for each client, two frames for each message.

One asyncio loop, as the sample had: aiokafka reads all partitions from their ends, each record goes
into the queues of the clients that want its key, and each client's task takes from its queue and
sends the key and the value, a frame each. Its faults are mended, because with them it could not be
measured: keys are looked up in a dict instead of compared with every pattern in turn, a full queue
drops a message of its own client, and a client that leaves is forgotten.
Above: sample_server.py, which puts it on WebSockets.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable

from aiokafka import AIOKafkaConsumer, TopicPartition
from benchmarks.fanout.load import PARTITIONS

GREETING = "what topic/key do you want?\n"
QUEUE = 1000
Queue = asyncio.Queue[tuple[bytes, bytes]]
Send = Callable[[str | bytes], Awaitable[None]]
Receive = Callable[[], Awaitable[str | bytes]]


class Hub:
    def __init__(self) -> None:
        self._queues: dict[bytes, set[Queue]] = defaultdict(set)

    async def client(self, send: Send, receive: Receive) -> None:
        """Until it leaves: then `send` or `receive` raises."""
        queue: Queue = asyncio.Queue(QUEUE)
        await send(GREETING)
        answer = await receive()
        wanted = (answer if isinstance(answer, bytes) else answer.encode()).partition(b"/")[2]
        self._queues[wanted].add(queue)
        try:
            while True:
                key, value = await queue.get()
                await send(key)
                await send(value)
        finally:
            self._queues[wanted].discard(queue)

    async def read(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                for record in records:
                    self._put(record.key or b"", record.value or b"")

    def _put(self, key: bytes, value: bytes) -> None:
        for queue in self._wanting(key):
            if not queue.full():
                queue.put_nowait((key, value))

    def _wanting(self, key: bytes) -> Iterable[Queue]:
        yield from self._queues.get(key, ())
        yield from self._queues.get(b"*", ())


async def consumer_at_end(bootstrap: str, topic: str) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
    await consumer.start()
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    consumer.assign(places)
    await consumer.seek_to_end(*places)
    return consumer
