"""Clients of a broker whose power will be cut, and the one who looks afterwards.

Each client owns a few topics, a group and an idempotent producer id, and outlives the broker: what
was in doubt when the power went is sent again, with its old sequence, in the next life. Topics go
by id wherever the protocol lets them, so that a namesake is never mistaken for the topic deleted.
Above: test_broker_power_cuts.py. Below: promises.py keeps the books.
"""

import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from uuid import UUID

from tests.crash.power import Machine
from tests.crash.promises import ABSENT, Key, Promises, TopicState
from tests.wire.client import AsyncClient
from tests.wire.requests import ALL, batch, create_topic

from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from kafkaesque.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkaesque.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kafkaesque.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkaesque.records.batch import batches, read_header

EXPIRING = "expiring"
"""Topics of this name lose their oldest segments to retention."""

_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_NOTHING: frozenset[int] = frozenset()
_MAX_IN_FLIGHT = 3


class PowerClient:
    """Does one random thing after another, and notes what it is told."""

    def __init__(self, number: int, promises: Promises, rng: random.Random) -> None:
        self.group = f"group-{number}"
        self._names = [f"topic-{number}", f"{EXPIRING}-{number}"]
        self._promises = promises
        self._rng = rng
        self._producer_id = -1
        self._next_sequence: dict[Key, int] = {}
        self._in_doubt: dict[Key, list[bytearray]] = {}
        self._machine: Machine
        self._connection: AsyncClient

    async def live(self, machine: Machine, operations: int) -> None:
        """Until the power goes, or that many operations are done."""
        self._machine = machine
        try:
            self._connection = await machine.connect()
            try:
                await self._begin()
                for _ in range(operations):
                    await self._operation()()
            finally:
                self._connection.close()
        except ConnectionError:
            if not machine.is_dark:
                self._promises.problem("a connection was closed while the power was on")

    async def _begin(self) -> None:
        if self._producer_id < 0:
            await self._new_producer()
        for key in list(self._in_doubt):
            await self._produce_idempotently(key, more=False)
        for name in self._names:
            if self._promises.is_absent(name):
                await self._create(name)

    def _operation(self) -> Callable[[], Awaitable[None]]:
        weighted: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (30, self._produce_in_sequence),
            (25, self._produce_plainly),
            (15, self._fetch),
            (10, self._commit),
            (5, self._delete_records),
            (3, self._create_or_delete),
            (2, self._grow),
            (1, self._new_producer),
            (3, self._hang_up),
        ]
        weights = [weight for weight, _ in weighted]
        return self._rng.choices([what for _, what in weighted], weights)[0]

    async def _new_producer(self) -> None:
        answer = await self._connection.call(InitProducerIdRequest(), InitProducerIdResponse, 4)
        if self._succeeded("InitProducerId", answer.error_code):
            self._promises.given_producer_id(answer.producer_id)
            self._producer_id = answer.producer_id
            self._next_sequence.clear()
            self._in_doubt.clear()

    async def _produce_in_sequence(self) -> None:
        for key in self._partitions(1):
            await self._produce_idempotently(key)

    async def _produce_idempotently(self, key: Key, more: bool = True) -> None:
        """A few batches at once. Those in doubt go first, as with any client that retries."""
        waiting = self._in_doubt.setdefault(key, [])
        for _ in range(self._rng.randint(0, _MAX_IN_FLIGHT - len(waiting)) if more else 0):
            sequence = self._next_sequence.get(key, 0)
            waiting.append(self._batch((self._producer_id, 0, sequence)))
            self._next_sequence[key] = sequence + read_header(waiting[-1]).count
            self._promises.sending(key, waiting[-1])
        sent = list(waiting)
        for records in sent:
            self._connection.send(_produce_request({key: records}, ALL), 13)
        for records in sent:
            answer = await self._connection.receive()
            if self._note_produced({key: records}, answer):
                waiting.remove(records)
        if not waiting:
            del self._in_doubt[key]

    async def _produce_plainly(self) -> None:
        """Several partitions in one request, with any acks, never sent again."""
        data = {key: self._batch() for key in self._partitions(self._rng.choice((1, 1, 3)))}
        for key, records in data.items():
            self._promises.sending(key, records)
        acks = self._rng.choice((ALL, ALL, ALL, 1, 0))
        self._connection.send(_produce_request(data, acks), 13)
        if acks == 0:
            return
        answer = await self._connection.receive()
        self._note_produced(data if acks == ALL else {}, answer)

    def _note_produced(self, data: Mapping[Key, bytearray], answer: ProduceResponse) -> bool:
        """Whether there is nothing left in doubt."""
        settled = True
        for topic in answer.responses:
            for partition in topic.partition_responses:
                key = (topic.topic_id, partition.index)
                if self._succeeded("Produce", partition.error_code, _GONE) and key in data:
                    self._promises.acknowledged(key, partition.base_offset, data[key])
                settled &= partition.error_code in {ErrorCode.NONE, *_GONE}
        return settled

    async def _fetch(self) -> None:
        for topic_id, partition in self._partitions(1):
            key = (topic_id, partition)
            first, last = self._promises.log_start(key), self._promises.end(key)
            offset = self._rng.randint(first, max(first, last))
            wanted = FetchPartition(
                partition=partition, fetch_offset=offset, partition_max_bytes=4000
            )
            request = FetchRequest(
                max_wait_ms=self._rng.choice((0, 0, 2)),
                min_bytes=1,
                topics=[FetchTopic(topic_id=topic_id, partitions=[wanted])],
            )
            answer = await self._connection.call(request, FetchResponse, 16)
            found = answer.responses[0].partitions[0]
            deleted = self._expires(topic_id) or offset < self._promises.log_start(key)
            expected = _GONE | {ErrorCode.OFFSET_OUT_OF_RANGE} if deleted else _GONE
            if self._succeeded("Fetch", found.error_code, expected):
                self._promises.saw_high_watermark(key, found.high_watermark)
                data = bytes(found.records or b"")
                for position, header in batches(data):
                    whole = data[position : position + header.size]
                    self._promises.fetched(key, header.base_offset, whole)

    async def _commit(self) -> None:
        topics = []
        offsets = {key: self._rng.randrange(1000) for key in self._partitions(2)}
        for (topic_id, partition), offset in offsets.items():
            self._promises.committing((self.group, topic_id, partition), offset)
            wanted = OffsetCommitRequestPartition(
                partition_index=partition, committed_offset=offset
            )
            topics.append(OffsetCommitRequestTopic(topic_id=topic_id, partitions=[wanted]))
        request = OffsetCommitRequest(group_id=self.group, topics=topics)
        answer = await self._connection.call(request, OffsetCommitResponse, 10)
        for topic in answer.topics:
            for found in topic.partitions:
                key = (topic.topic_id, found.partition_index)
                if self._succeeded("OffsetCommit", found.error_code, _GONE):
                    self._promises.committed((self.group, *key), offsets[key])

    async def _delete_records(self) -> None:
        for name, topic_id, partition in self._own_partitions():
            key = (topic_id, partition)
            first, last = self._promises.log_start(key), self._promises.end(key)
            offset = self._rng.randint(first, max(first, last))
            self._promises.deleting_records(key, offset)
            wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=name, partitions=[wanted])], timeout_ms=1000
            )
            answer = await self._connection.call(request, DeleteRecordsResponse, 2)
            found = answer.topics[0].partitions[0]
            if self._succeeded("DeleteRecords", found.error_code):
                self._promises.deleted_records(key, found.low_watermark)

    async def _create_or_delete(self) -> None:
        name = self._rng.choice(self._names)
        if self._promises.is_absent(name) or self._promises.is_creation_in_doubt(name):
            await self._create(name)
        elif name in self._promises.topics():
            self._promises.asked_for(name, ABSENT)
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1000)
            answer = await self._connection.call(request, DeleteTopicsResponse, 6)
            if self._succeeded("DeleteTopics", answer.responses[0].error_code):
                self._promises.told(name, ABSENT)

    async def _create(self, name: str) -> None:
        """Create a topic, or find out that the attempt in doubt has come to something."""
        in_doubt = self._promises.is_creation_in_doubt(name)
        partitions = 1 if in_doubt else self._rng.randint(1, 2)
        self._promises.asked_for(name, TopicState(partitions))
        answer = await self._connection.call(_create(name, partitions), CreateTopicsResponse, 7)
        error, topic_id = answer.topics[0].error_code, answer.topics[0].topic_id
        if in_doubt and error == ErrorCode.TOPIC_ALREADY_EXISTS:
            request = MetadataRequest(
                topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
            )
            found = (await self._connection.call(request, MetadataResponse, 12)).topics[0]
            error, topic_id = found.error_code, found.topic_id
        being_created = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} if in_doubt else _NOTHING
        if self._succeeded("CreateTopics", error, being_created):
            self._promises.told(name, TopicState(partitions, topic_id))

    async def _grow(self) -> None:
        name = self._rng.choice(self._names)
        state = self._promises.topics().get(name)
        if state is None or state.partitions > 3:
            return
        grown = state._replace(partitions=state.partitions + 1)
        self._promises.asked_for(name, grown)
        wanted = CreatePartitionsTopic(name=name, count=grown.partitions, assignments=None)
        request = CreatePartitionsRequest(topics=[wanted], timeout_ms=1000)
        answer = await self._connection.call(request, CreatePartitionsResponse, 3)
        if self._succeeded("CreatePartitions", answer.results[0].error_code):
            self._promises.told(name, grown)

    async def _hang_up(self) -> None:
        """Leave with requests under way, and come back."""
        data = {key: self._batch() for key in self._partitions(1)}
        for key, records in data.items():
            self._promises.sending(key, records)
        self._connection.send(_produce_request(data, ALL), 13)
        name = self._rng.choice(self._names)
        if self._promises.is_absent(name):
            self._promises.asked_for(name, TopicState(1))
            self._connection.send(_create(name, 1), 7)
        elif name in self._promises.topics() and self._rng.random() < 0.3:
            self._promises.asked_for(name, ABSENT)
            self._connection.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)]), 6)
        await self._connection.flush()
        self._connection.close()
        self._connection = await self._machine.connect()

    def _partitions(self, count: int) -> list[Key]:
        """Some partitions of topics that are there, as far as anybody knows."""
        known = [
            (state.id, partition)
            for state in self._promises.topics().values()
            if state.id is not None
            for partition in range(state.partitions)
        ]
        return self._rng.sample(known, min(count, len(known)))

    def _own_partitions(self) -> list[tuple[str, UUID, int]]:
        """A partition of one of this client's own topics, if there is any."""
        name = self._rng.choice(self._names)
        state = self._promises.topics().get(name)
        if state is None or state.id is None:
            return []
        return [(name, state.id, self._rng.randrange(state.partitions))]

    def _expires(self, topic_id: UUID) -> bool:
        names = [name for name, state in self._promises.topics().items() if state.id == topic_id]
        return not names or names[0].startswith(EXPIRING)

    def _batch(self, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytearray:
        return batch(self._values(), timestamp=wall_clock(), producer=producer)

    def _values(self) -> list[bytes]:
        size = self._rng.choice((5, 50, 50, 300, 1200))
        return [self._rng.randbytes(size) for _ in range(self._rng.choice((1, 1, 2, 5)))]

    def _succeeded(self, what: str, error: int, expected: Collection[int] = _NOTHING) -> bool:
        """Anything but success is a broken promise while the power is on, unless it is expected."""
        if error not in {ErrorCode.NONE, *expected} and not self._machine.is_dark:
            self._promises.problem(f"{what}: {ErrorCode(error).name} while the power was on")
        return error == ErrorCode.NONE


def _create(name: str, partitions: int) -> CreateTopicsRequest:
    retention = "4000" if name.startswith(EXPIRING) else "-1"
    return create_topic(name, partitions, retention_bytes=retention)


def _produce_request(data: Mapping[Key, bytearray], acks: int) -> ProduceRequest:
    topics: dict[UUID, TopicProduceData] = {}
    for (topic_id, partition), records in data.items():
        topic = topics.setdefault(topic_id, TopicProduceData(topic_id=topic_id))
        topic.partition_data.append(PartitionProduceData(index=partition, records=records))
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=list(topics.values()))
