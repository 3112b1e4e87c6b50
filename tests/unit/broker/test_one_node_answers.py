"""What has a short true answer on one node that nobody has to log in to: elections, reassignments,
quorum, features, quotas, access control.

tests/compat/test_answers.py asks Apache Kafka the same.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from inspect import isawaitable
from itertools import count
from typing import Any

import pytest
from tests.unit.testing.surroundings import broker_with, context

from kafkaesque.broker.apis import APIS
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import NODE_ID
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkaesque.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkaesque.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafkaesque.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkaesque.protocol.messages.describe_acls import DescribeAclsRequest
from kafkaesque.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafkaesque.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafkaesque.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from kafkaesque.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkaesque.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkaesque.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafkaesque.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from kafkaesque.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafkaesque.protocol.schema import schema_of

OTHER_NODE = NODE_ID + 1
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS = 2, 4, 8, 16


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with broker_with("t", "u") as found:
        yield found


def ask(broker: Broker, request: object, version: int | None = None) -> Any:
    api = APIS[schema_of(type(request)).api_key or 0]
    ctx = context(broker, api.key, api.max_version if version is None else version)
    answer = api.handle(ctx, request)
    return asyncio.run(_awaited(answer)) if isawaitable(answer) else answer


async def _awaited(answer: Any) -> Any:
    return await answer


@pytest.mark.parametrize("election_type", [0, 1])
def test_no_election_is_needed(broker: Broker, election_type: int) -> None:
    wanted = [
        TopicPartitions(topic="t", partitions=[0, 7]),
        TopicPartitions(topic="x", partitions=[0]),
    ]
    answer = ask(broker, ElectLeadersRequest(election_type=election_type, topic_partitions=wanted))
    t, x = answer.replica_election_results
    assert (answer.error_code, t.topic, x.topic) == (ErrorCode.NONE, "t", "x")
    assert [(p.partition_id, p.error_code) for p in t.partition_result] == [
        (0, ErrorCode.ELECTION_NOT_NEEDED),
        (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert [p.error_code for p in x.partition_result] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_an_election_of_all_names_the_topics_and_no_partition(broker: Broker) -> None:
    answer = ask(broker, ElectLeadersRequest(topic_partitions=None))
    results = {r.topic: r.partition_result for r in answer.replica_election_results}
    assert results == {"t": [], "u": []}


def test_an_unknown_type_of_election_is_refused(broker: Broker) -> None:
    wanted = [TopicPartitions(topic="t", partitions=[0])]
    answer = ask(broker, ElectLeadersRequest(election_type=2, topic_partitions=wanted))
    (partition,) = answer.replica_election_results[0].partition_result
    assert answer.error_code == partition.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("replicas", "error"),
    [
        ([NODE_ID], ErrorCode.NONE),
        (None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([NODE_ID, NODE_ID], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([OTHER_NODE], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([NODE_ID, OTHER_NODE], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_partition_can_be_reassigned_to_the_node_it_is_on(
    broker: Broker, replicas: list[int] | None, error: ErrorCode
) -> None:
    partitions = [
        ReassignablePartition(partition_index=0, replicas=replicas),
        ReassignablePartition(partition_index=7, replicas=replicas),
    ]
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=False,
        topics=[ReassignableTopic(name="t", partitions=partitions)],
    )
    answer = ask(broker, request)
    assert not answer.allow_replication_factor_change
    codes = [(p.partition_index, p.error_code) for p in answer.responses[0].partitions]
    assert codes == [(0, error), (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert ask(broker, ListPartitionReassignmentsRequest()).topics == []


def test_a_replica_is_in_the_one_directory_there_is(broker: Broker) -> None:
    here = broker.storage.path
    moves = [
        AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])])
        for path, topic in (("elsewhere", "t"), (here, "t"), ("elsewhere", "u"), (here, "x"))
    ]
    answer = ask(broker, AlterReplicaLogDirsRequest(dirs=moves))
    assert {r.topic_name: [p.error_code for p in r.partitions] for r in answer.results} == {
        "t": [ErrorCode.NONE],
        "u": [ErrorCode.LOG_DIR_NOT_FOUND],
        "x": [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    }


def quorum(*names: tuple[str, int]) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        topics=[
            RequestTopicData(
                topic_name=topic, partitions=[RequestPartitionData(partition_index=index)]
            )
            for topic, index in names
        ]
    )


def test_the_quorum_is_this_node_and_ends_where_the_metadata_does(broker: Broker) -> None:
    answer = ask(broker, quorum(("__cluster_metadata", 0)))
    (partition,) = answer.topics[0].partitions
    (voter,) = partition.current_voters
    assert (partition.error_code, partition.leader_id, partition.observers) == (0, NODE_ID, [])
    assert (voter.replica_id, voter.log_end_offset) == (NODE_ID, partition.high_watermark)
    assert partition.high_watermark == broker.metadata.partition.log.end_offset > 0
    ((listener,),) = [node.listeners for node in answer.nodes]
    assert (listener.host, listener.port) == ("127.0.0.1", 9092)


@pytest.mark.parametrize(
    "names",
    [
        [("t", 0)],
        [("__cluster_metadata", 1)],
        [("__cluster_metadata", 0), ("t", 0)],
        [("__cluster_metadata", 0), ("__cluster_metadata", 0)],
    ],
)
def test_nothing_else_has_a_quorum(broker: Broker, names: list[tuple[str, int]]) -> None:
    answer = ask(broker, quorum(*names))
    codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
    assert (codes, answer.nodes) == ([ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * len(names), [])


@pytest.mark.parametrize(
    ("feature", "level", "upgrade_type", "error"),
    [
        ("transaction.version", 2, 1, ErrorCode.NONE),
        ("transaction.version", 2, 3, ErrorCode.NONE),
        ("transaction.version", 3, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", 1, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", 1, 2, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", 2, 9, ErrorCode.INVALID_UPDATE_VERSION),
        ("transaction.version", -1, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("unknown", 1, 1, ErrorCode.INVALID_UPDATE_VERSION),
        ("unknown", 0, 2, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_a_feature_stays_at_its_highest_level(
    broker: Broker, feature: str, level: int, upgrade_type: int, error: ErrorCode
) -> None:
    update = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=upgrade_type)
    answer = ask(broker, UpdateFeaturesRequest(feature_updates=[update]), version=1)
    assert answer.error_code == error
    assert [r.feature for r in answer.results] == ([feature] if error == ErrorCode.NONE else [])


def test_features_are_updated_all_or_none(broker: Broker) -> None:
    updates = [
        FeatureUpdateKey(feature="transaction.version", max_version_level=2),
        FeatureUpdateKey(feature="unknown", max_version_level=1),
    ]
    answer = ask(broker, UpdateFeaturesRequest(feature_updates=updates), version=0)
    assert (answer.error_code, answer.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
    assert "unknown" in (answer.error_message or "")


ANY = 2


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([], ErrorCode.NONE),
        ([("user", ANY, None), ("client-id", 1, None)], ErrorCode.NONE),
        ([("ip", 0, "127.0.0.1")], ErrorCode.NONE),
        ([("user", 0, None)], ErrorCode.INVALID_REQUEST),
        ([("user", 1, "name")], ErrorCode.INVALID_REQUEST),
        ([("user", 9, None)], ErrorCode.INVALID_REQUEST),
        ([("user", ANY, None), ("user", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("ip", ANY, None), ("user", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("planet", ANY, None)], ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_there_are_no_quotas_and_a_wrong_filter_is_refused(
    broker: Broker, components: list[tuple[str, int, str | None]], error: ErrorCode
) -> None:
    filters = [
        ComponentData(entity_type=kind, match_type=match_type, match=match)
        for kind, match_type, match in components
    ]
    answer = ask(broker, DescribeClientQuotasRequest(components=filters))
    assert answer.error_code == error
    assert answer.entries == ([] if error == ErrorCode.NONE else None)


def test_access_control_is_off(broker: Broker) -> None:
    assert ask(broker, DescribeAclsRequest()).error_code == ErrorCode.SECURITY_DISABLED
    created = ask(broker, CreateAclsRequest(creations=[AclCreation(), AclCreation()])).results
    deleted = ask(broker, DeleteAclsRequest(filters=[DeleteAclsFilter()])).filter_results
    assert [r.error_code for r in created] == [ErrorCode.SECURITY_DISABLED] * 2
    assert [r.error_code for r in deleted] == [ErrorCode.SECURITY_DISABLED]


def test_nobody_has_credentials_or_tokens(broker: Broker) -> None:
    assert ask(broker, DescribeUserScramCredentialsRequest(users=None)).results == []
    users = [UserName(name=name) for name in ("a", "b", "a")]
    answer = ask(broker, DescribeUserScramCredentialsRequest(users=users))
    assert {r.user: r.error_code for r in answer.results} == {
        "a": ErrorCode.DUPLICATE_RESOURCE,
        "b": ErrorCode.RESOURCE_NOT_FOUND,
    }
    tokens = ask(broker, DescribeDelegationTokenRequest(owners=None))
    assert tokens.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([], {(BROKER, "0"), (BROKER_LOGGER, "0"), (TOPIC, "t"), (TOPIC, "u")}),
        ([TOPIC, TOPIC], {(TOPIC, "t"), (TOPIC, "u")}),
        ([BROKER], {(BROKER, "0")}),
        ([CLIENT_METRICS], set()),
    ],
)
def test_what_has_settings_is_listed(
    broker: Broker, types: list[int], expected: set[tuple[int, str]]
) -> None:
    answer = ask(broker, ListConfigResourcesRequest(resource_types=types))
    listed = [(r.resource_type, r.resource_name) for r in answer.config_resources]
    assert (set(listed), len(listed)) == (expected, len(expected))


def test_the_first_version_of_the_list_knows_client_metrics_alone(broker: Broker) -> None:
    answer = ask(broker, ListConfigResourcesRequest(), version=0)
    assert (answer.error_code, answer.config_resources) == (ErrorCode.NONE, [])


def test_a_list_of_an_unknown_type_is_refused(broker: Broker) -> None:
    answer = ask(broker, ListConfigResourcesRequest(resource_types=[TOPIC, 99]))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


MANY = 5000
LONG = [
    ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0] * MANY)]),
    ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0])] * MANY),
    ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0] * 500)] * 10),
    AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="t", partitions=[ReassignablePartition()] * 500)] * 10
    ),
    AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path="p", topics=[AlterReplicaLogDirTopic(name="t", partitions=list(range(MANY)))]
            )
        ]
    ),
    DescribeQuorumRequest(topics=quorum(("t", 0)).topics * MANY),
    DescribeUserScramCredentialsRequest(users=[UserName(name=f"{i}") for i in range(MANY)]),
    UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature="transaction.version", max_version_level=2)]
        * MANY
    ),
    CreateAclsRequest(creations=[AclCreation()] * MANY),
    DeleteAclsRequest(filters=[DeleteAclsFilter()] * MANY),
]


@pytest.mark.parametrize("request_", LONG, ids=lambda request: type(request).__name__)
def test_a_long_request_gives_the_loop_back_in_between(
    broker: Broker, request_: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On this clock each thing takes 0.1 ms, however quick the machine is.
    monkeypatch.setattr(broker.slices, "_clock", partial(next, count(0, 0.0001)))
    api = APIS[schema_of(type(request_)).api_key or 0]

    async def given_back() -> int:
        answer: Any = api.handle(context(broker, api.key, api.max_version), request_)
        task = asyncio.ensure_future(answer)
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(given_back()) >= MANY // 1000
