"""A transactional producer over a raw connection: each request is made when a test says so, and its
error comes back as it is.

    producer = RawProducer(RawClient(bootstrap), "id")
    producer.init()
    producer.add("topic", 0)
    producer.send("topic", 0, [b"value"])
    producer.end(commit=True)

`OLD` are the versions of clients from before KIP-890: partitions are added one by one, and the
epoch stays. `NEW` ones need no `add`, and take on the epoch that `end` is answered with. `client`,
`producer_id`, `epoch` and `sequences` may be set to anything: a zombie is a copy with old ones.
Above: crash/transaction_clients.py, e2e/transaction_errors.py. Below: client.py, requests.py.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeVar

from tests.wire.requests import produce, produce_answer

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
from kafkaesque.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkaesque.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafkaesque.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafkaesque.records.batch import Record, new_batch

R = TypeVar("R")

TIMEOUT_MS = 60_000


_NOT_YET = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


class Caller(Protocol):
    """What a producer needs of a connection: RawClient has it."""

    def call(self, request: object, response: type[R], version: int) -> R: ...


class Versions(NamedTuple):
    """Of the requests that a producer makes."""

    init_producer_id: int
    add_partitions: int
    add_offsets: int
    produce: int
    offset_commit: int
    end: int


OLD = Versions(4, 3, 3, 9, 3, 3)
NEW = Versions(5, 3, 4, 12, 5, 5)


def patiently(call: Callable[[], ErrorCode], timeout_s: float = 60) -> ErrorCode:
    """Ask again while the broker is still busy with the end of the last transaction, or with
    setting itself up, as every client does.
    """
    deadline = time.monotonic() + timeout_s
    while (error := call()) in _NOT_YET and time.monotonic() < deadline:
        time.sleep(0.01)
    return error


def find_coordinator(client: Caller, name: str, *, of_group: bool = False) -> ErrorCode:
    """Clients ask this first, and Apache Kafka makes its internal topics only then."""
    request = FindCoordinatorRequest(key=name, key_type=0 if of_group else 1)
    return ErrorCode(client.call(request, FindCoordinatorResponse, 3).error_code)


@dataclass(slots=True)
class RawProducer:
    client: Caller
    transactional_id: str
    versions: Versions = OLD
    producer_id: int = -1
    epoch: int = -1
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)
    """The next of each partition."""

    def over(self, client: Caller) -> "RawProducer":
        """The same producer as it is now, over another connection."""
        return replace(self, client=client, sequences=dict(self.sequences))

    def init(self, timeout_ms: int = TIMEOUT_MS, *, going_on: bool = False) -> ErrorCode:
        """`going_on`: with the id and the epoch that it has (KIP-360)."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms
        )
        if going_on:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        version = self.versions.init_producer_id
        answer = self.client.call(request, InitProducerIdResponse, version)
        if not answer.error_code:
            self._become(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def add(self, topic: str, *partitions: int) -> ErrorCode:
        """The error of the first of them."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[*partitions])],
        )
        version = self.versions.add_partitions
        answer = self.client.call(request, AddPartitionsToTxnResponse, version)
        results = answer.results_by_topic_v3_and_below[0].results_by_partition
        return ErrorCode(results[0].partition_error_code)

    def send(
        self,
        topic: str,
        partition: int,
        values: Sequence[bytes],
        *,
        sequence: int | None = None,
        transactional: bool = True,
        named: bool = True,
    ) -> PartitionProduceResponse:
        """One batch, with the next sequence unless told otherwise. Not `named`: the request does
        not have the transactional id.
        """
        place = (topic, partition)
        first = self.sequences.get(place, 0) if sequence is None else sequence
        now = time.time_ns() // 1_000_000
        records = new_batch(
            [Record(i, now, None, value, ()) for i, value in enumerate(values)],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=first,
            transactional=transactional,
        )
        request = produce(topic, partition, records)
        request.transactional_id = self.transactional_id if transactional and named else None
        answer = produce_answer(self.client.call(request, ProduceResponse, self.versions.produce))
        if not answer.error_code and sequence is None:
            self.sequences[place] = first + len(values)
        return answer

    def end(self, *, commit: bool) -> ErrorCode:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        answer = self.client.call(request, EndTxnResponse, self.versions.end)
        if answer.producer_id >= 0:
            self._become(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code)

    def add_offsets(self, group: str) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        version = self.versions.add_offsets
        return ErrorCode(self.client.call(request, AddOffsetsToTxnResponse, version).error_code)

    def commit_offset(
        self,
        group: str,
        topic: str,
        offset: int,
        *,
        generation: int = -1,
        member_id: str = "",
        instance_id: str | None = None,
    ) -> ErrorCode:
        """For the topic's first partition."""
        wanted = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[wanted])],
        )
        version = self.versions.offset_commit
        answer = self.client.call(request, TxnOffsetCommitResponse, version)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def _become(self, producer_id: int, epoch: int) -> None:
        """A new epoch counts from 0."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            self.sequences = {}
