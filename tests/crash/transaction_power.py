"""A transactional client of a broker whose power will be cut, and what it may find afterwards.

A transaction has a number, which its records in two partitions and the offset that it commits all
carry. It is told to be committed or aborted, or is left in doubt. Whatever the cut did, a reader of
committed records sees each transaction in both partitions or in neither; those told committed, none
of those told aborted or never asked to commit; in order, and none twice; and the group's offset is
that of the last.
Above: test_torn_transactions.py. Below: power.py.
"""

import random
from collections.abc import Sequence

from tests.crash.power import Machine
from tests.crash.power_look import RefusedError
from tests.wire.client import AsyncClient
from tests.wire.requests import create_topic

from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafkaesque.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
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
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkaesque.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafkaesque.records.batch import Record, batches, new_batch, records

PARTITIONS = (0, 1)

_COMMITTED = 1
_OLD, _NEW = False, True
_RETRIABLE = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS)
"""A client that changes its generation may come while its last transaction is ending."""


class TransactionalClient:
    """Runs one transaction after the other; both generations of the protocol take turns."""

    def __init__(self, number: int, rng: random.Random) -> None:
        self._name = f"client-{number}"
        self.topic = f"numbers-{number}"
        self._rng = rng
        self._next_number = 0
        self.told_committed: set[int] = set()
        self.in_doubt: set[int] = set()
        self._producer = (-1, -1)
        self._sequences = dict.fromkeys(PARTITIONS, 0)
        self._connection: AsyncClient

    async def live(self, machine: Machine, transactions: int) -> None:
        try:
            self._connection = await machine.connect()
            try:
                await self._begin()
                for _ in range(transactions):
                    await self._transaction(self._rng.choice((_OLD, _NEW)))
            finally:
                self._connection.close()
        except (ConnectionError, RefusedError):
            if not machine.is_dark:
                raise

    async def _begin(self) -> None:
        asked = MetadataRequest(
            topics=[MetadataRequestTopic(name=self.topic)], allow_auto_topic_creation=False
        )
        known = await self._connection.call(asked, MetadataResponse, 9)
        if known.topics[0].error_code:
            created = create_topic(self.topic, len(PARTITIONS))
            answer = await self._connection.call(created, CreateTopicsResponse, 7)
            _check("CreateTopics", answer.topics[0].error_code)
        await self._init()

    async def _init(self) -> None:
        """A new epoch: whatever was open is aborted."""
        request = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=60_000)
        answer = await self._connection.call(request, InitProducerIdResponse, 4)
        _check("InitProducerId", answer.error_code)
        self._take(answer.producer_id, answer.producer_epoch)

    def _take(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != self._producer:
            self._sequences = dict.fromkeys(PARTITIONS, 0)
        self._producer = (producer_id, epoch)

    async def _transaction(self, generation: bool) -> None:
        number, self._next_number = self._next_number, self._next_number + 1
        if self._rng.random() < 0.1:
            await self._init()
        if generation is _OLD:
            await self._add()
        for partition in PARTITIONS:
            for _ in range(self._rng.randint(1, 2)):
                await self._produce(number, partition, 12 if generation is _NEW else 11)
        await self._commit_offset(number, generation)
        if self._rng.random() < 0.1:
            return await self._init()
        await self._end(number, commit=self._rng.random() < 0.7, generation=generation)
        return None

    async def _add(self) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=self._producer[0],
            v3_and_below_producer_epoch=self._producer[1],
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=self.topic, partitions=list(PARTITIONS))
            ],
        )
        answer = await self._connection.call(request, AddPartitionsToTxnResponse, 3)
        for result in answer.results_by_topic_v3_and_below[0].results_by_partition:
            _check("AddPartitionsToTxn", result.partition_error_code)
        offsets = AddOffsetsToTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            group_id=self._name,
        )
        added = await self._connection.call(offsets, AddOffsetsToTxnResponse, 3)
        _check("AddOffsetsToTxn", added.error_code)

    async def _produce(self, number: int, partition: int, version: int) -> None:
        values = [b"%d" % number] * self._rng.randint(1, 3)
        batch = new_batch(
            [Record(i, wall_clock(), None, value) for i, value in enumerate(values)],
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            base_sequence=self._sequences[partition],
            transactional=True,
        )
        self._sequences[partition] += len(values)
        data = PartitionProduceData(index=partition, records=batch)
        request = ProduceRequest(
            transactional_id=self._name,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[data])],
        )
        while True:
            answer = await self._connection.call(request, ProduceResponse, version)
            error = answer.responses[0].partition_responses[0].error_code
            if error not in _RETRIABLE:
                break
        _check("Produce", error)

    async def _commit_offset(self, number: int, generation: bool) -> None:
        at = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=number)
        request = TxnOffsetCommitRequest(
            transactional_id=self._name,
            group_id=self._name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            topics=[TxnOffsetCommitRequestTopic(name=self.topic, partitions=[at])],
        )
        version = 5 if generation is _NEW else 3
        answer = await self._connection.call(request, TxnOffsetCommitResponse, version)
        _check("TxnOffsetCommit", answer.topics[0].partitions[0].error_code)

    async def _end(self, number: int, commit: bool, generation: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            committed=commit,
        )
        if commit:
            self.in_doubt.add(number)
        answer = await self._connection.call(request, EndTxnResponse, 5 if generation else 4)
        _check("EndTxn", answer.error_code)
        if commit:
            self.in_doubt.discard(number)
            self.told_committed.add(number)
        if generation is _NEW:
            self._take(answer.producer_id, answer.producer_epoch)

    async def problems(self, connection: AsyncClient) -> list[str]:
        """What a reader of committed records must not see. What it sees is promised from here."""
        self._connection = connection
        if not self._next_number:
            return []
        try:
            await self._begin()
        except RefusedError as error:
            return [str(error)]
        seen = [await self._committed(partition) for partition in PARTITIONS]
        found = list(self._broken(seen))
        offset = await self._offset()
        if offset != max(seen[0], default=-1):
            found.append(f"{self._name}: offset {offset} beside {_distinct(seen[0])[-5:]}")
        self.told_committed = set(seen[0])
        self.in_doubt.clear()
        return found

    def _broken(self, seen: list[list[int]]) -> Sequence[str]:
        first, second = (_distinct(each) for each in seen)
        problems = []
        if first != second:
            problems.append(f"{self._name}: torn: {set(first) ^ set(second)} in one partition only")
        if first != sorted(set(first)):
            problems.append(f"{self._name}: out of order, or twice: {first}")
        if lost := self.told_committed - set(first):
            problems.append(f"{self._name}: {lost} were committed, and are gone")
        if strange := set(first) - self.told_committed - self.in_doubt:
            problems.append(f"{self._name}: {strange} were never to be committed")
        return problems

    async def _committed(self, partition: int) -> list[int]:
        """The numbers of all records that a reader of committed ones sees, as a client does it."""
        numbers: list[int] = []
        offset = 0
        while True:
            wanted = FetchPartition(
                partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            request = FetchRequest(
                min_bytes=0,
                isolation_level=_COMMITTED,
                session_epoch=-1,
                topics=[FetchTopic(topic=self.topic, partitions=[wanted])],
            )
            answer = await self._connection.call(request, FetchResponse, 12)
            data = answer.responses[0].partitions[0]
            _check("Fetch", data.error_code)
            if not data.records:
                return numbers
            aborted = {
                (each.producer_id, each.first_offset) for each in data.aborted_transactions or ()
            }
            numbers += _visible(bytes(data.records), aborted)
            offset = max(header.next_offset for _, header in batches(bytes(data.records)))

    async def _offset(self) -> int:
        topic = OffsetFetchRequestTopic(name=self.topic, partition_indexes=[0])
        request = OffsetFetchRequest(group_id=self._name, topics=[topic], require_stable=True)
        answer = await self._connection.call(request, OffsetFetchResponse, 7)
        at = answer.topics[0].partitions[0]
        _check("OffsetFetch", at.error_code)
        return at.committed_offset


def _visible(data: bytes, aborted: set[tuple[int, int]]) -> list[int]:
    """Skip what belongs to an aborted transaction: from its first offset to the next marker."""
    numbers: list[int] = []
    skipped: set[int] = set()
    for position, header in batches(data):
        for producer_id, first_offset in aborted:
            if producer_id == header.producer_id and first_offset <= header.base_offset:
                skipped.add(producer_id)
        if header.is_control:
            skipped.discard(header.producer_id)
            aborted = {
                (producer_id, first)
                for producer_id, first in aborted
                if producer_id != header.producer_id or first > header.base_offset
            }
        elif header.producer_id not in skipped:
            numbers += [int(record.value or b"") for record in records(data, position)]
    return numbers


def _distinct(numbers: list[int]) -> list[int]:
    """The records of one transaction follow each other."""
    return [n for i, n in enumerate(numbers) if i == 0 or numbers[i - 1] != n]


def _check(what: str, error_code: int) -> None:
    if error_code:
        raise RefusedError(f"{what}: {ErrorCode(error_code).name}")
