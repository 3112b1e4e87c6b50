"""The worst requests of a megabyte that anyone can send to the group and transaction APIs.

`prepare` makes what they are about: a topic of many partitions, a stable group, a transaction.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from tests.unit.broker.brokers import new_topic

from kafkaesque.broker.broker import Broker
from kafkaesque.groups.events import Join, JoinReply, Sync
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkaesque.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkaesque.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkaesque.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.list_transactions import ListTransactionsRequest
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkaesque.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkaesque.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkaesque.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkaesque.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkaesque.types import TopicPartition

PARTITIONS = 2_000


@dataclass
class Scene:
    """Who may do what here."""

    producer_id: int
    producer_epoch: int


async def prepare(broker: Broker) -> Scene:
    await new_topic(broker, "t", PARTITIONS)
    names = [TopicPartition("t", number) for number in range(PARTITIONS)]
    for group_id in ("g", *(f"group-{n}" for n in range(2_000))):
        some = names if group_id == "g" else names[:1]
        await broker.coordinator.commit(group_id, dict.fromkeys(some, CommittedOffset(1)))
    reply = await broker.transactions.init("x", 60_000, -1, -1)
    for number in range(2_000):
        await broker.transactions.init(f"transaction-{number}", 60_000, -1, -1)
    whose = reply.producer_id, reply.producer_epoch
    await broker.transactions.add("x", *whose, [*names, TopicPartition("__consumer_offsets", 0)], 0)
    await member_of(broker, "m")
    return Scene(*whose)


async def member_of(
    broker: Broker, group_id: str, protocol_type: str = "consumer"
) -> tuple[str, int]:
    """The id and the generation of the only member of a stable group."""
    reply = broker.coordinator.future()
    protocols = (("range", b""),)
    join = Join(reply, "", None, "c", "/h", protocol_type, protocols, 300_000, 300_000)
    broker.coordinator.ask(group_id, join)
    joined = cast(JoinReply, await reply)
    synced = broker.coordinator.future()
    broker.coordinator.ask(group_id, Sync(synced, joined.generation, joined.member_id))
    await synced
    return joined.member_id, joined.generation


def _numbers(count: int) -> list[int]:
    """More than there are partitions: some are named again and again, others do not exist."""
    return [number % (2 * PARTITIONS) for number in range(count)]


def _known(count: int) -> list[int]:
    return [number % PARTITIONS for number in range(count)]


REQUESTS: dict[str, tuple[Callable[[Scene], Any], int, int]] = {
    "OffsetCommit": (
        lambda scene: OffsetCommitRequest(
            group_id="g",
            topics=[
                OffsetCommitRequestTopic(
                    name="t",
                    partitions=[
                        OffsetCommitRequestPartition(partition_index=n, committed_metadata="")
                        for n in _known(52_000)
                    ],
                )
            ],
        ),
        9,
        52_000,
    ),
    "OffsetCommit of topics": (
        lambda scene: OffsetCommitRequest(
            group_id="g", topics=[OffsetCommitRequestTopic(name="") for _ in range(340_000)]
        ),
        9,
        340_000,
    ),
    "OffsetFetch": (
        lambda scene: OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id="g",
                    topics=[
                        OffsetFetchRequestTopics(name="t", partition_indexes=_numbers(250_000))
                    ],
                )
            ],
            require_stable=True,
        ),
        8,
        250_000,
    ),
    "OffsetFetch of groups": (
        lambda scene: OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id="g", topics=None) for _ in range(150_000)]
        ),
        8,
        150_000,
    ),
    "OffsetDelete": (
        lambda scene: OffsetDeleteRequest(
            group_id="g",
            topics=[
                OffsetDeleteRequestTopic(
                    name="t",
                    partitions=[
                        OffsetDeleteRequestPartition(partition_index=n) for n in _numbers(250_000)
                    ],
                )
            ],
        ),
        0,
        250_000,
    ),
    "DeleteGroups": (
        lambda scene: DeleteGroupsRequest(
            groups_names=[f"group-{n}" for n in range(2_000)] + ["?"] * 300_000
        ),
        2,
        300_000,
    ),
    "DescribeGroups": (
        lambda scene: DescribeGroupsRequest(
            groups=[f"{n}" for n in range(120_000)] + ["m"] * 9_000
        ),
        6,
        120_000,
    ),
    "ListGroups": (lambda scene: ListGroupsRequest(), 5, 2_000),
    "FindCoordinator": (
        lambda scene: FindCoordinatorRequest(coordinator_keys=["?"] * 500_000),
        6,
        500_000,
    ),
    "LeaveGroup": (
        lambda scene: LeaveGroupRequest(
            group_id="m", members=[MemberIdentity(member_id="?") for _ in range(200_000)]
        ),
        5,
        200_000,
    ),
    "SyncGroup": (
        lambda scene: SyncGroupRequest(
            group_id="m",
            member_id="?",
            assignments=[SyncGroupRequestAssignment(member_id=f"{n}") for n in range(120_000)],
        ),
        5,
        12 * 10_000,
    ),
    "AddPartitionsToTxn": (
        lambda scene: AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnTransaction(
                    transactional_id="x",
                    producer_id=scene.producer_id,
                    producer_epoch=scene.producer_epoch,
                    topics=[AddPartitionsToTxnTopic(name="t", partitions=_known(250_000))],
                )
            ]
        ),
        5,
        500_000,
    ),
    "TxnOffsetCommit": (
        lambda scene: TxnOffsetCommitRequest(
            transactional_id="x",
            group_id="g",
            producer_id=scene.producer_id,
            producer_epoch=scene.producer_epoch,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name="t",
                    partitions=[
                        TxnOffsetCommitRequestPartition(partition_index=n, committed_metadata="")
                        for n in _known(52_000)
                    ],
                )
            ],
        ),
        5,
        52_000,
    ),
    "WriteTxnMarkers": (
        lambda scene: WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=77,
                    producer_epoch=0,
                    topics=[WritableTxnMarkerTopic(name="t", partition_indexes=_numbers(250_000))],
                )
            ]
        ),
        1,
        250_000,
    ),
    "DescribeProducers": (
        lambda scene: DescribeProducersRequest(
            topics=[TopicRequest(name="t", partition_indexes=_numbers(250_000))]
        ),
        0,
        250_000,
    ),
    "DescribeTransactions": (
        lambda scene: DescribeTransactionsRequest(
            transactional_ids=[f"{n}" for n in range(150_000)]
        ),
        0,
        150_000,
    ),
    "ListTransactions": (
        lambda scene: ListTransactionsRequest(
            producer_id_filters=list(range(120_000)),
            transactional_id_pattern="(t|r|.)*" + "[a-z]?" * 40 + ".*",
        ),
        2,
        2_000,
    ),
}
"""API -> its request, version, and how many things the request names."""
