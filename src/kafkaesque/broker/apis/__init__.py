"""THE table: every API that the broker serves, with its versions and its function. ApiVersions is
computed from it.

A function takes a context and a request and returns the response, or something to await for it, or
None for no response. What it does before it returns is its ordered stage: it runs when the request
arrives, in order. ConnectionAbortedError closes the connection without an answer.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from kafkaesque.broker.apis.add_offsets_to_txn import add_offsets_to_txn
from kafkaesque.broker.apis.add_partitions_to_txn import add_partitions_to_txn
from kafkaesque.broker.apis.alter_configs import alter_configs, incremental_alter_configs
from kafkaesque.broker.apis.alter_partition_reassignments import alter_partition_reassignments
from kafkaesque.broker.apis.alter_replica_log_dirs import alter_replica_log_dirs
from kafkaesque.broker.apis.api_versions import api_versions
from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.apis.create_acls import create_acls
from kafkaesque.broker.apis.create_partitions import create_partitions
from kafkaesque.broker.apis.create_topics import create_topics
from kafkaesque.broker.apis.delete_acls import delete_acls
from kafkaesque.broker.apis.delete_groups import delete_groups
from kafkaesque.broker.apis.delete_records import delete_records
from kafkaesque.broker.apis.delete_topics import delete_topics
from kafkaesque.broker.apis.describe_acls import describe_acls
from kafkaesque.broker.apis.describe_client_quotas import describe_client_quotas
from kafkaesque.broker.apis.describe_cluster import describe_cluster
from kafkaesque.broker.apis.describe_configs import describe_configs
from kafkaesque.broker.apis.describe_delegation_token import describe_delegation_token
from kafkaesque.broker.apis.describe_groups import describe_groups
from kafkaesque.broker.apis.describe_log_dirs import describe_log_dirs
from kafkaesque.broker.apis.describe_producers import describe_producers
from kafkaesque.broker.apis.describe_quorum import describe_quorum
from kafkaesque.broker.apis.describe_topic_partitions import describe_topic_partitions
from kafkaesque.broker.apis.describe_transactions import describe_transactions
from kafkaesque.broker.apis.describe_user_scram_credentials import describe_user_scram_credentials
from kafkaesque.broker.apis.elect_leaders import elect_leaders
from kafkaesque.broker.apis.end_txn import end_txn
from kafkaesque.broker.apis.fetch import fetch
from kafkaesque.broker.apis.find_coordinator import find_coordinator
from kafkaesque.broker.apis.heartbeat import heartbeat
from kafkaesque.broker.apis.init_producer_id import init_producer_id
from kafkaesque.broker.apis.join_group import join_group
from kafkaesque.broker.apis.leave_group import leave_group
from kafkaesque.broker.apis.list_config_resources import list_config_resources
from kafkaesque.broker.apis.list_groups import list_groups
from kafkaesque.broker.apis.list_offsets import list_offsets
from kafkaesque.broker.apis.list_partition_reassignments import list_partition_reassignments
from kafkaesque.broker.apis.list_transactions import list_transactions
from kafkaesque.broker.apis.metadata import metadata
from kafkaesque.broker.apis.offset_commit import offset_commit
from kafkaesque.broker.apis.offset_delete import offset_delete
from kafkaesque.broker.apis.offset_fetch import offset_fetch
from kafkaesque.broker.apis.offset_for_leader_epoch import offset_for_leader_epoch
from kafkaesque.broker.apis.produce import produce
from kafkaesque.broker.apis.sync_group import sync_group
from kafkaesque.broker.apis.txn_offset_commit import txn_offset_commit
from kafkaesque.broker.apis.update_features import update_features
from kafkaesque.broker.apis.write_txn_markers import write_txn_markers

__all__ = ["APIS", "Api", "Context"]


class Api(NamedTuple):
    key: int
    name: str
    min_version: int
    max_version: int
    handle: Callable[[Context, Any], Any | Awaitable[Any] | None]
    ends_with_connection: bool = False
    """It changes nothing, or says in its context when it does."""


_TABLE = (
    Api(0, "Produce", 0, 13, produce),
    Api(1, "Fetch", 4, 18, fetch, ends_with_connection=True),
    Api(2, "ListOffsets", 1, 11, list_offsets, ends_with_connection=True),
    Api(3, "Metadata", 0, 13, metadata, ends_with_connection=True),
    Api(8, "OffsetCommit", 2, 10, offset_commit),
    Api(9, "OffsetFetch", 1, 10, offset_fetch, ends_with_connection=True),
    Api(10, "FindCoordinator", 0, 6, find_coordinator, ends_with_connection=True),
    Api(11, "JoinGroup", 0, 9, join_group),
    Api(12, "Heartbeat", 0, 4, heartbeat),
    Api(13, "LeaveGroup", 0, 5, leave_group),
    Api(14, "SyncGroup", 0, 5, sync_group),
    Api(15, "DescribeGroups", 0, 6, describe_groups, ends_with_connection=True),
    Api(16, "ListGroups", 0, 5, list_groups, ends_with_connection=True),
    Api(18, "ApiVersions", 0, 4, api_versions),
    Api(19, "CreateTopics", 2, 7, create_topics),
    Api(20, "DeleteTopics", 1, 6, delete_topics),
    Api(21, "DeleteRecords", 0, 2, delete_records),
    Api(22, "InitProducerId", 0, 5, init_producer_id),
    Api(23, "OffsetForLeaderEpoch", 2, 4, offset_for_leader_epoch, ends_with_connection=True),
    Api(24, "AddPartitionsToTxn", 0, 5, add_partitions_to_txn),
    Api(25, "AddOffsetsToTxn", 0, 4, add_offsets_to_txn),
    Api(26, "EndTxn", 0, 5, end_txn),
    Api(27, "WriteTxnMarkers", 1, 2, write_txn_markers),
    Api(28, "TxnOffsetCommit", 0, 5, txn_offset_commit),
    Api(29, "DescribeAcls", 1, 3, describe_acls),
    Api(30, "CreateAcls", 1, 3, create_acls),
    Api(31, "DeleteAcls", 1, 3, delete_acls),
    Api(32, "DescribeConfigs", 1, 4, describe_configs, ends_with_connection=True),
    Api(33, "AlterConfigs", 0, 2, alter_configs),
    Api(34, "AlterReplicaLogDirs", 1, 2, alter_replica_log_dirs),
    Api(35, "DescribeLogDirs", 1, 5, describe_log_dirs, ends_with_connection=True),
    Api(37, "CreatePartitions", 0, 3, create_partitions),
    Api(41, "DescribeDelegationToken", 1, 3, describe_delegation_token),
    Api(42, "DeleteGroups", 0, 2, delete_groups),
    Api(43, "ElectLeaders", 0, 2, elect_leaders),
    Api(44, "IncrementalAlterConfigs", 0, 1, incremental_alter_configs),
    Api(45, "AlterPartitionReassignments", 0, 1, alter_partition_reassignments),
    Api(46, "ListPartitionReassignments", 0, 0, list_partition_reassignments),
    Api(47, "OffsetDelete", 0, 0, offset_delete),
    Api(48, "DescribeClientQuotas", 0, 1, describe_client_quotas),
    Api(50, "DescribeUserScramCredentials", 0, 0, describe_user_scram_credentials),
    Api(55, "DescribeQuorum", 0, 2, describe_quorum),
    Api(57, "UpdateFeatures", 0, 2, update_features),
    Api(60, "DescribeCluster", 0, 2, describe_cluster),
    Api(61, "DescribeProducers", 0, 0, describe_producers, ends_with_connection=True),
    Api(65, "DescribeTransactions", 0, 0, describe_transactions, ends_with_connection=True),
    Api(66, "ListTransactions", 0, 2, list_transactions, ends_with_connection=True),
    Api(74, "ListConfigResources", 0, 1, list_config_resources),
    Api(75, "DescribeTopicPartitions", 0, 0, describe_topic_partitions, ends_with_connection=True),
)

APIS: dict[int, Api] = {api.key: api for api in _TABLE}
