"""Every API that is declared, by key. One file per API, its request and its response together.

MESSAGES says what can be *decoded*. What the broker *serves* is its own table, in broker/apis; what
only our clients *ask*, of other brokers, is in ASKED.
internal.py, beside them, declares what is not sent but stored: the records of internal topics;
consumer_protocol.py what consumers tell each other inside of a message.
"""

from typing import Any, Final, NamedTuple

from kafkaesque.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafkaesque.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from kafkaesque.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from kafkaesque.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kafkaesque.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkaesque.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kafkaesque.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafkaesque.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from kafkaesque.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafkaesque.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkaesque.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from kafkaesque.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafkaesque.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafkaesque.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kafkaesque.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from kafkaesque.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kafkaesque.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafkaesque.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafkaesque.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from kafkaesque.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from kafkaesque.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from kafkaesque.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafkaesque.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kafkaesque.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kafkaesque.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkaesque.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkaesque.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkaesque.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkaesque.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkaesque.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkaesque.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkaesque.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkaesque.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafkaesque.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkaesque.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkaesque.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkaesque.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkaesque.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kafkaesque.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkaesque.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafkaesque.protocol.messages.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kafkaesque.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkaesque.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from kafkaesque.protocol.messages.update_features import (
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafkaesque.protocol.messages.write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafkaesque.protocol.schema import schema_of


class Api(NamedTuple):
    key: int
    name: str
    request: type[Any]
    response: type[Any]

    @property
    def versions(self) -> tuple[int, int]:
        return schema_of(self.request).versions

    def is_flexible(self, version: int) -> bool:
        return schema_of(self.request).is_flexible(version)

    def has_flexible_response_header(self, version: int) -> bool:
        """ApiVersions has none: its client does not know yet what the broker understands."""
        return self.key != API_VERSIONS and self.is_flexible(version)


PRODUCE: Final = 0
FETCH: Final = 1
API_VERSIONS: Final = 18

_APIS: Final = (
    Api(0, "Produce", ProduceRequest, ProduceResponse),
    Api(1, "Fetch", FetchRequest, FetchResponse),
    Api(2, "ListOffsets", ListOffsetsRequest, ListOffsetsResponse),
    Api(3, "Metadata", MetadataRequest, MetadataResponse),
    Api(8, "OffsetCommit", OffsetCommitRequest, OffsetCommitResponse),
    Api(9, "OffsetFetch", OffsetFetchRequest, OffsetFetchResponse),
    Api(10, "FindCoordinator", FindCoordinatorRequest, FindCoordinatorResponse),
    Api(11, "JoinGroup", JoinGroupRequest, JoinGroupResponse),
    Api(12, "Heartbeat", HeartbeatRequest, HeartbeatResponse),
    Api(13, "LeaveGroup", LeaveGroupRequest, LeaveGroupResponse),
    Api(14, "SyncGroup", SyncGroupRequest, SyncGroupResponse),
    Api(15, "DescribeGroups", DescribeGroupsRequest, DescribeGroupsResponse),
    Api(16, "ListGroups", ListGroupsRequest, ListGroupsResponse),
    Api(18, "ApiVersions", ApiVersionsRequest, ApiVersionsResponse),
    Api(19, "CreateTopics", CreateTopicsRequest, CreateTopicsResponse),
    Api(20, "DeleteTopics", DeleteTopicsRequest, DeleteTopicsResponse),
    Api(21, "DeleteRecords", DeleteRecordsRequest, DeleteRecordsResponse),
    Api(22, "InitProducerId", InitProducerIdRequest, InitProducerIdResponse),
    Api(23, "OffsetForLeaderEpoch", OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse),
    Api(24, "AddPartitionsToTxn", AddPartitionsToTxnRequest, AddPartitionsToTxnResponse),
    Api(25, "AddOffsetsToTxn", AddOffsetsToTxnRequest, AddOffsetsToTxnResponse),
    Api(26, "EndTxn", EndTxnRequest, EndTxnResponse),
    Api(27, "WriteTxnMarkers", WriteTxnMarkersRequest, WriteTxnMarkersResponse),
    Api(28, "TxnOffsetCommit", TxnOffsetCommitRequest, TxnOffsetCommitResponse),
    Api(29, "DescribeAcls", DescribeAclsRequest, DescribeAclsResponse),
    Api(30, "CreateAcls", CreateAclsRequest, CreateAclsResponse),
    Api(31, "DeleteAcls", DeleteAclsRequest, DeleteAclsResponse),
    Api(32, "DescribeConfigs", DescribeConfigsRequest, DescribeConfigsResponse),
    Api(33, "AlterConfigs", AlterConfigsRequest, AlterConfigsResponse),
    Api(34, "AlterReplicaLogDirs", AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse),
    Api(35, "DescribeLogDirs", DescribeLogDirsRequest, DescribeLogDirsResponse),
    Api(37, "CreatePartitions", CreatePartitionsRequest, CreatePartitionsResponse),
    Api(
        41,
        "DescribeDelegationToken",
        DescribeDelegationTokenRequest,
        DescribeDelegationTokenResponse,
    ),
    Api(42, "DeleteGroups", DeleteGroupsRequest, DeleteGroupsResponse),
    Api(43, "ElectLeaders", ElectLeadersRequest, ElectLeadersResponse),
    Api(
        44,
        "IncrementalAlterConfigs",
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse,
    ),
    Api(
        45,
        "AlterPartitionReassignments",
        AlterPartitionReassignmentsRequest,
        AlterPartitionReassignmentsResponse,
    ),
    Api(
        46,
        "ListPartitionReassignments",
        ListPartitionReassignmentsRequest,
        ListPartitionReassignmentsResponse,
    ),
    Api(47, "OffsetDelete", OffsetDeleteRequest, OffsetDeleteResponse),
    Api(48, "DescribeClientQuotas", DescribeClientQuotasRequest, DescribeClientQuotasResponse),
    Api(
        50,
        "DescribeUserScramCredentials",
        DescribeUserScramCredentialsRequest,
        DescribeUserScramCredentialsResponse,
    ),
    Api(55, "DescribeQuorum", DescribeQuorumRequest, DescribeQuorumResponse),
    Api(57, "UpdateFeatures", UpdateFeaturesRequest, UpdateFeaturesResponse),
    Api(60, "DescribeCluster", DescribeClusterRequest, DescribeClusterResponse),
    Api(61, "DescribeProducers", DescribeProducersRequest, DescribeProducersResponse),
    Api(65, "DescribeTransactions", DescribeTransactionsRequest, DescribeTransactionsResponse),
    Api(66, "ListTransactions", ListTransactionsRequest, ListTransactionsResponse),
    Api(74, "ListConfigResources", ListConfigResourcesRequest, ListConfigResourcesResponse),
    Api(
        75,
        "DescribeTopicPartitions",
        DescribeTopicPartitionsRequest,
        DescribeTopicPartitionsResponse,
    ),
)

ASKED: Final = (
    Api(17, "SaslHandshake", SaslHandshakeRequest, SaslHandshakeResponse),
    Api(36, "SaslAuthenticate", SaslAuthenticateRequest, SaslAuthenticateResponse),
    Api(69, "ConsumerGroupDescribe", ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse),
)
"""What our clients ask of other brokers, and ours does not serve."""

MESSAGES: Final[dict[int, Api]] = {api.key: api for api in _APIS}

FLEXIBLE_SINCE: Final[dict[int, int]] = {
    api.key: first for api in _APIS if (first := schema_of(api.request).flexible) is not None
}
"""From which version on a request has a flexible header: what `decode_request_header` wants."""
