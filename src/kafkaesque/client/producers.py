"""Who writes to partitions, and where a transaction holds readers up: DescribeProducers.

The leader of each partition is asked (wire.py), and the coordinators for the transactional ids of
those producers. A partition that cannot be told about is a Status.
Above: cli/txn/producers.py. Below: transactions.py, transaction.py, cluster.py, wire.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from kafkaesque.client.admin import Admin
from kafkaesque.client.answers import Status, error_code
from kafkaesque.client.cluster import Cluster, cluster
from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.topics import cure
from kafkaesque.client.transaction import PartitionProducer
from kafkaesque.client.transactions import Transactions
from kafkaesque.client.wire import Wire
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicRequest,
)
from kafkaesque.types import TopicPartition

_VERSION: Final = 0
_LOOK: Final = "try again, or see what is wrong with `kafkaesque cluster health`"


def producers(admin: Admin, places: Sequence[TopicPartition]) -> list[PartitionProducer | Status]:
    """All that these partitions remember, by partition and producer id."""
    found = cluster(admin)
    transactions = Transactions(admin.connection, found)
    addresses = {node.node_id: Address(node.host, node.port) for node in found.nodes}
    told: list[PartitionProducer | Status] = []
    for leader, led in sorted(_by_leader(found, places).items()):
        if leader in addresses:
            told += _told(addresses[leader], led, admin.connection)
        else:
            told += [_status(place, ErrorCode.LEADER_NOT_AVAILABLE) for place in led]
    return _named(told, transactions)


def _by_leader(found: Cluster, places: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
    leaders = {each.place: each.leader for each in found.partitions}
    led: dict[int, list[TopicPartition]] = {}
    for place in places:
        led.setdefault(leaders.get(place, -1), []).append(place)
    return led


def _told(
    leader: Address, places: Iterable[TopicPartition], connection: Connection
) -> list[PartitionProducer | Status]:
    topics: dict[str, list[int]] = {}
    for place in places:
        topics.setdefault(place.topic, []).append(place.partition)
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=it) for name, it in topics.items()]
    )
    with Wire(leader, connection) as wire:
        answer = wire.ask(request, DescribeProducersResponse, _VERSION)
    return [
        told
        for topic in answer.topics
        for partition in topic.partitions
        for told in _of_partition(TopicPartition(topic.name, partition.partition_index), partition)
    ]


def _of_partition(
    place: TopicPartition, told: PartitionResponse
) -> list[PartitionProducer | Status]:
    if told.error_code:
        return [_status(place, error_code(told.error_code), told.error_message)]
    return [_producer(place, each) for each in told.active_producers]


def _producer(place: TopicPartition, told: ProducerState) -> PartitionProducer:
    return PartitionProducer(
        place,
        told.producer_id,
        told.producer_epoch,
        last_sequence=_known(told.last_sequence),
        last_timestamp_ms=_known(told.last_timestamp),
        start_offset=_known(told.current_txn_start_offset),
    )


def _named(
    told: list[PartitionProducer | Status], transactions: Transactions
) -> list[PartitionProducer | Status]:
    ids = {each.producer_id for each in told if isinstance(each, PartitionProducer)}
    listed = transactions.list(producer_ids=ids) if ids else []
    names = {each.producer_id: each.transactional_id for each in listed}
    return [
        replace(each, transactional_id=names.get(each.producer_id))
        if isinstance(each, PartitionProducer)
        else each
        for each in told
    ]


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _status(place: TopicPartition, code: ErrorCode, message: str | None = None) -> Status:
    words = message or "nobody tells who writes to it"
    return Status(str(place), code, words, cure(code, place.topic) or _LOOK)
