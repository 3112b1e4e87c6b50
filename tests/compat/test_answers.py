"""The same requests, byte for byte, to our broker and to Apache Kafka: the answers are the same.

Compared are error codes and structure, in every version of each API. Not compared are the words of
error messages, the order of lists, addresses, ids, clocks, and what may be changed while the broker
runs; the node's own number is `NODE` on both sides. Where we answer otherwise on purpose, a test of
its own says so at the end.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.compat.apache_kafka import ApacheKafka
from tests.wire.client import RawClient
from tests.wire.requests import batch, create_topic, fetch, produce, produce_answer

from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.metadata import Resource
from kafkaesque.broker.node_settings import NODE_SETTINGS
from kafkaesque.broker.server import wall_clock
from kafkaesque.broker.settings import COMPRESSION_TYPES
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages import MESSAGES
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
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkaesque.protocol.messages.describe_acls import DescribeAclsRequest
from kafkaesque.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafkaesque.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kafkaesque.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafkaesque.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from kafkaesque.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkaesque.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkaesque.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkaesque.protocol.messages.fetch import FetchResponse
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkaesque.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafkaesque.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkaesque.protocol.messages.produce import PartitionProduceResponse, ProduceResponse
from kafkaesque.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafkaesque.protocol.schema import schema_of
from kafkaesque.records.batch import batches
from kafkaesque.records.compression import Codec

pytestmark = pytest.mark.compat

OWN_TOPICS = ("answers", "kept")
NODE_FIELDS = {"leader_id", "replica_id", "node_id", "broker_id", "controller_id"}
NODE_LISTS = {"replica_nodes", "isr_nodes"}
NOT_COMPARED = {
    "error_message",
    "cluster_id",
    "host",
    "port",
    "topic_id",
    "leader_epoch",
    "high_watermark",
    "log_end_offset",
    "last_fetch_timestamp",
    "last_caught_up_timestamp",
    "Listener.name",
    "read_only",
}


class Node(NamedTuple):
    """A broker under test: where it is, its number, and where it keeps its files."""

    bootstrap: str
    id: int
    directory: str


Question = Callable[[Node], object]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with BrokerProcess(Path(tmp_path_factory.mktemp("answers")) / "data") as broker:
        yield prepared(Node(broker.bootstrap, 0, str(broker.data_dir)))


@pytest.fixture(scope="module")
def theirs(apache_kafka: ApacheKafka) -> Node:
    return prepared(Node(apache_kafka.bootstrap, 1, str(apache_kafka.data_dir)))


def prepared(node: Node) -> Node:
    with RawClient(node.bootstrap) as client:
        for request in (create_topic("answers", 2), create_topic("kept", 1, cleanup_policy="")):
            created = client.call(request, CreateTopicsResponse, 5)
            assert created.topics[0].error_code == ErrorCode.NONE, created
    # Kafka's broker learns of it a little later than its controller.
    admin = foreign.admin(node.bootstrap)
    foreign.until(lambda: admin.list_topics(timeout=5).topics.keys() >= set(OWN_TOPICS))
    return node


def ask(node: Node, question: Question, version: int) -> Any:
    request = question(node)
    api = MESSAGES[schema_of(type(request)).api_key or 0]
    with RawClient(node.bootstrap) as client:
        return client.call(request, api.response, version)


def plain(message: Any, node: Node, field: str = "") -> Any:
    """What is to be the same on both sides."""
    if dataclasses.is_dataclass(message) and not isinstance(message, type):
        kind = type(message).__name__
        # Beside an error, 0 is no node.
        left_out = NOT_COMPARED | NODE_FIELDS if getattr(message, "error_code", 0) else NOT_COMPARED
        return {
            inner.name: plain(getattr(message, inner.name), node, inner.name)
            for inner in dataclasses.fields(message)
            if left_out.isdisjoint({inner.name, f"{kind}.{inner.name}"})
        }
    if isinstance(message, list):
        inner_field = "node_id" if field in NODE_LISTS else field
        return sorted((plain(part, node, inner_field) for part in message), key=repr)
    if field in NODE_FIELDS or field == "resource_name":
        return "NODE" if message in (node.id, str(node.id)) else message
    return message


def elect(election_type: int, *names: tuple[str, list[int]]) -> Question:
    wanted = [TopicPartitions(topic=topic, partitions=partitions) for topic, partitions in names]
    return lambda node: ElectLeadersRequest(election_type=election_type, topic_partitions=wanted)


def reassign(replicas: Callable[[Node], list[int] | None]) -> Question:
    def request(node: Node) -> object:
        partitions = [
            ReassignablePartition(partition_index=index, replicas=replicas(node))
            for index in (0, 1, 9)
        ]
        return AlterPartitionReassignmentsRequest(
            topics=[
                ReassignableTopic(name="answers", partitions=partitions),
                ReassignableTopic(name="missing", partitions=partitions[:1]),
            ]
        )

    return request


def move(path: Callable[[Node], str]) -> Question:
    topics = [
        AlterReplicaLogDirTopic(name="answers", partitions=[0, 9, 0]),
        AlterReplicaLogDirTopic(name="missing", partitions=[0]),
    ]
    return lambda node: AlterReplicaLogDirsRequest(
        dirs=[AlterReplicaLogDir(path=path(node), topics=topics)]
    )


def quorum(*names: tuple[str, int]) -> Question:
    topics = [
        RequestTopicData(topic_name=topic, partitions=[RequestPartitionData(partition_index=index)])
        for topic, index in names
    ]
    return lambda node: DescribeQuorumRequest(topics=topics)


def quotas(*components: tuple[str, int, str | None]) -> Question:
    filters = [
        ComponentData(entity_type=kind, match_type=match_type, match=match)
        for kind, match_type, match in components
    ]
    return lambda node: DescribeClientQuotasRequest(components=filters)


def features(*updates: tuple[str, int, int]) -> Question:
    keys = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
        for name, level, upgrade_type in updates
    ]
    return lambda node: UpdateFeaturesRequest(feature_updates=keys, validate_only=True)


def users(*names: str) -> Question:
    return lambda node: DescribeUserScramCredentialsRequest(
        users=[UserName(name=name) for name in names]
    )


def metadata(**asked: Any) -> Question:
    topics = [MetadataRequestTopic(name=name) for name in ("answers", "missing", "a b")]
    return lambda node: MetadataRequest(topics=topics, allow_auto_topic_creation=False, **asked)


def configs(kind: Resource, name: str, *keys: str) -> Question:
    def request(node: Node) -> object:
        resource_name = str(node.id) if name == "NODE" else name
        resource = DescribeConfigsResource(
            resource_type=kind, resource_name=resource_name, configuration_keys=list(keys) or None
        )
        return DescribeConfigsRequest(resources=[resource])

    return request


def set_config(
    kind: Resource, resource: str, name: str, value: str | None, operation: int = 0
) -> Question:
    """Whether it would be let through."""

    def request(node: Node) -> object:
        changes = AlterConfigsResource(
            resource_type=kind,
            resource_name=str(node.id) if resource == "NODE" else resource,
            configs=[AlterableConfig(name=name, value=value, config_operation=operation)],
        )
        return IncrementalAlterConfigsRequest(resources=[changes], validate_only=True)

    return request


def resources(*kinds: int) -> Question:
    return lambda node: ListConfigResourcesRequest(resource_types=list(kinds))


METADATA = "__cluster_metadata"
TRANSACTIONS = "transaction.version"
ANY = 2
DELETE = 1
QUESTIONS: dict[str, Question] = {
    "acls": lambda node: DescribeAclsRequest(
        resource_type_filter=1, operation=1, permission_type=1
    ),
    "new acls": lambda node: CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=2,
                resource_name="answers",
                principal="User:a",
                host="*",
                operation=3,
                permission_type=3,
            )
        ]
        * 2
    ),
    "no new acls": lambda node: CreateAclsRequest(),
    "old acls": lambda node: DeleteAclsRequest(
        filters=[DeleteAclsFilter(resource_type_filter=1, operation=1, permission_type=1)]
    ),
    "all tokens": lambda node: DescribeDelegationTokenRequest(owners=None),
    "no users": users(),
    "all users": lambda node: DescribeUserScramCredentialsRequest(users=None),
    "users": users("a", "b", "a", ""),
    "elections": elect(0, ("answers", [0, 1, 7]), ("missing", [0]), ("answers", [1])),
    "no elections": elect(0),
    "unclean elections": elect(1, ("answers", [0])),
    "unknown elections": elect(2, ("answers", [0]), ("missing", [0])),
    "reassigned to itself": reassign(lambda node: [node.id]),
    "reassigned twice": reassign(lambda node: [node.id, node.id]),
    "reassigned to another": reassign(lambda node: [77]),
    "reassigned to another, too": reassign(lambda node: [node.id, 77]),
    "reassigned to nobody": reassign(lambda node: []),
    "not reassigned": reassign(lambda node: None),
    "reassignments": lambda node: ListPartitionReassignmentsRequest(topics=None),
    "reassignments of some": lambda node: ListPartitionReassignmentsRequest(
        topics=[ListPartitionReassignmentsTopics(name="missing", partition_indexes=[0])]
    ),
    "moved to where it is": move(lambda node: node.directory),
    "moved elsewhere": move(lambda node: "/elsewhere"),
    "moved to nearly where it is": move(lambda node: f"{node.directory}/"),
    "quorum": quorum((METADATA, 0)),
    "quorum of another partition": quorum((METADATA, 1)),
    "quorum of a topic": quorum(("answers", 0)),
    "quorum and more": quorum((METADATA, 0), ("answers", 0)),
    "quorum of nothing": quorum(),
    "quotas": quotas(),
    "quotas of a user": quotas(("user", ANY, None), ("client-id", 1, None)),
    "quotas of an address": quotas(("ip", 0, "127.0.0.1")),
    "quotas of nobody": quotas(("user", 0, None)),
    "quotas of a named default": quotas(("user", 1, "a")),
    "quotas of the same twice": quotas(("user", ANY, None), ("user", ANY, None)),
    "quotas of an unknown match": quotas(("user", 9, None)),
    "quotas of an unknown type": quotas(("planet", ANY, None)),
    "quotas of an empty type": quotas(("", ANY, None)),
    "quotas of two types": quotas(("ip", ANY, None), ("user", ANY, None)),
    "no features": features(),
    "same level": features((TRANSACTIONS, 2, 1)),
    "same level by downgrade": features((TRANSACTIONS, 2, 2)),
    "level too high": features((TRANSACTIONS, 3, 1)),
    "level lower by upgrade": features((TRANSACTIONS, 1, 1)),
    "level negative": features((TRANSACTIONS, -1, 2)),
    "unknown feature": features(("nonsense", 1, 1)),
    "unknown feature deleted": features(("nonsense", 0, 2)),
    "one of two features": features((TRANSACTIONS, 2, 1), ("nonsense", 1, 1)),
    "cluster": lambda node: DescribeClusterRequest(),
    "cluster and operations": lambda node: DescribeClusterRequest(
        include_cluster_authorized_operations=True
    ),
    "partitions": lambda node: DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in ("answers", "missing", "a b")]
    ),
    "client metrics": configs(Resource.CLIENT_METRICS, "any"),
    "client metrics of no name": configs(Resource.CLIENT_METRICS, ""),
    "group of no name": configs(Resource.GROUP, ""),
    "loggers of another": configs(Resource.BROKER_LOGGER, "77"),
    "loggers of nobody": configs(Resource.BROKER_LOGGER, ""),
    "broker's unknown": configs(Resource.BROKER, "NODE", "nonsense"),
    "another broker": configs(Resource.BROKER, "77"),
    "no broker": configs(Resource.BROKER, "nonsense"),
    "topic's policy": configs(Resource.TOPIC, "answers", "cleanup.policy", "retention.bytes"),
    "topic without a policy": configs(Resource.TOPIC, "kept", "cleanup.policy"),
    "missing topic": configs(Resource.TOPIC, "missing"),
    "nameless topic": configs(Resource.TOPIC, ""),
    "invalid topic": configs(Resource.TOPIC, "a b"),
    **{
        f"policy {value!r}": set_config(Resource.TOPIC, "answers", "cleanup.policy", value)
        for value in ("", " ", "delete,delete", " compact , delete ", "shred", ",")
    },
    **{
        f"topic's {name}={value}": set_config(Resource.TOPIC, "answers", name, value)
        for name, value in (
            *(("compression.type", name) for name in (*COMPRESSION_TYPES, "rar")),
            ("file.delete.delay.ms", "0"),
            ("file.delete.delay.ms", "-1"),
            ("segment.jitter.ms", "5"),
            ("segment.jitter.ms", "-1"),
            ("preallocate", "true"),
            ("unclean.leader.election.enable", "true"),
            ("remote.storage.enable", "true"),
            ("nonsense", "1"),
        )
    },
    **{
        f"broker's {name}": set_config(Resource.BROKER, "NODE", name, "1")
        for name in NODE_SETTINGS
        if name not in ("listeners", "listener.security.protocol.map")
    },
    **{
        f"{name} of {kind.name} {resource!r} deleted": set_config(
            kind, resource, name, None, DELETE
        )
        for kind, resource, name in (
            (Resource.BROKER, "NODE", "leader.replication.throttled.rate"),
            (Resource.BROKER, "NODE", "node.id"),
            (Resource.BROKER, "", "log.retention.ms"),
            (Resource.TOPIC, "answers", "nonsense"),
            (Resource.TOPIC, "answers", "retention.ms"),
            (Resource.TOPIC, "missing", "retention.ms"),
        )
    },
    "broker of another number": set_config(Resource.BROKER, "77", "log.retention.ms", "1"),
    "client metrics set without a name": set_config(Resource.CLIENT_METRICS, "", "match", ""),
    "unknown resource": set_config(Resource(32), "", "nonsense", "1"),
}
SOME_VERSIONS: dict[str, tuple[Question, range]] = {
    "metadata": (metadata(), range(8, 14)),
    "metadata and operations": (
        metadata(include_topic_authorized_operations=True),
        range(8, 14),
    ),
    "metadata and the cluster's operations": (
        metadata(include_cluster_authorized_operations=True),
        range(8, 11),
    ),
    "metadata by id": (
        lambda node: MetadataRequest(
            topics=[MetadataRequestTopic(name=None, topic_id=UUID(int=77))],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        ),
        range(12, 14),
    ),
    **{
        f"resources {kinds}": (resources(*kinds), range(1, 2))
        for kinds in ([4], [8], [16], [32], [4, 8, 4], [0], [99])
    },
    "resources, of old": (resources(), range(1)),
    "unknown upgrade": (features((TRANSACTIONS, 2, 9)), range(1, 3)),
}


def every_version(question: Question) -> range:
    request = question(Node("", 0, ""))
    first, last = MESSAGES[schema_of(type(request)).api_key or 0].versions
    return range(first, last + 1)


ALL = {
    **{name: (question, every_version(question)) for name, question in QUESTIONS.items()},
    **SOME_VERSIONS,
}


@pytest.mark.parametrize("name", ALL)
def test_the_answer_is_kafkas(ours: Node, theirs: Node, name: str) -> None:
    question, versions = ALL[name]
    for version in versions:
        answers = [plain(ask(node, question, version), node) for node in (ours, theirs)]
        assert answers[0] == answers[1], version


def test_an_election_of_all_names_topics_without_partitions(ours: Node, theirs: Node) -> None:
    """Other tests have topics of theirs on the same Apache Kafka."""
    for node in (ours, theirs):
        answer = ask(node, lambda node: ElectLeadersRequest(topic_partitions=None), 2)
        results = {r.topic: r.partition_result for r in answer.replica_election_results}
        assert answer.error_code == ErrorCode.NONE
        assert [results[name] for name in OWN_TOPICS] == [[], []]


def test_topics_are_listed_among_what_has_settings(ours: Node, theirs: Node) -> None:
    for node in (ours, theirs):
        for kinds in ([], [2]):
            answer = ask(node, resources(*kinds), 1)
            listed = [(r.resource_type, r.resource_name) for r in answer.config_resources]
            assert {(2, name) for name in OWN_TOPICS} <= set(listed)
            assert ((4, str(node.id)) in listed) == (not kinds)


def described(node: Node, kind: Resource, name: str) -> dict[str, DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    with RawClient(node.bootstrap) as client:
        (result,) = client.call(request, DescribeConfigsResponse, 4).results
    return {config.name: config for config in result.configs}


def test_the_broker_is_described_by_the_same_names_kinds_and_sources(
    ours: Node, theirs: Node
) -> None:
    """`log.dir` is what Kafka would use if `log.dirs` were not given; ours are the same."""
    mine, kafkas = (described(node, Resource.BROKER, str(node.id)) for node in (ours, theirs))
    assert [name for name in NODE_SETTINGS if name not in kafkas] == []
    for name in NODE_SETTINGS.keys() - {"log.dir"}:
        one, other = mine[name], kafkas[name]
        assert (one.config_type, one.config_source) == (other.config_type, other.config_source)
        assert [s.source for s in one.synonyms] == [s.source for s in other.synonyms], name
        assert (one.value is None) == (other.value is None), name


def test_the_broker_of_no_name_has_only_what_was_set(ours: Node, theirs: Node) -> None:
    for node in (ours, theirs):
        sources = {c.config_source for c in described(node, Resource.BROKER, "").values()}
        assert sources <= {3}


@pytest.mark.parametrize("compression_type", [*COMPRESSION_TYPES])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_batches_are_stored_in_the_topics_codec(
    ours: Node, theirs: Node, compression_type: str, codec: Codec
) -> None:
    attributes = []
    for node in (ours, theirs):
        configs = {"compression.type": compression_type}
        topic = foreign.create_topic(node.bootstrap, configs=configs)
        records = batch([b"value" * 100] * 10, timestamp=wall_clock(), codec=codec)
        with RawClient(node.bootstrap) as client:
            assert wait_for_leader(client, topic, records).base_offset == 0
            (answered,) = client.call(fetch(topic, 0, 0), FetchResponse, 11).responses
        stored = answered.partitions[0].records or b""
        attributes.append([header.attributes for _, header in batches(stored)])
    assert attributes[0] == attributes[1]


def wait_for_leader(client: RawClient, topic: str, records: bytearray) -> PartitionProduceResponse:
    """Kafka's broker may not lead a new topic yet."""
    while True:
        answer = produce_answer(client.call(produce(topic, 0, records), ProduceResponse, 9))
        if answer.error_code not in (
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ):
            return answer


OF_OUR_OWN = {
    "log.cleaner.niceness",
    "max.partitions",
    "max.producer.ids",
    "max.topics",
    "queued.max.request.bytes.per.connection",
    "strict.replication",
    "write.caching",
    "write.caching.default",
}


def test_every_setting_has_kafkas_kind(ours: Node, theirs: Node) -> None:
    of_ours = set()
    for resource, name, settings in (
        (Resource.BROKER, str(theirs.id), BROKER_SETTINGS),
        (Resource.TOPIC, "answers", TOPIC_SETTINGS),
    ):
        kafkas = described(theirs, resource, name)
        kinds = {name: kafkas[name].config_type for name in settings.keys() & kafkas.keys()}
        assert {name: settings[name].kind for name in kinds} == kinds
        of_ours |= settings.keys() - kafkas.keys()
    assert of_ours == OF_OUR_OWN


def test_a_feature_can_be_downgraded_on_kafka_alone(ours: Node, theirs: Node) -> None:
    downgrade = features((TRANSACTIONS, 1, 2))
    codes = []
    for node in (ours, theirs):
        answer = ask(node, downgrade, 2)
        assert isinstance(answer, UpdateFeaturesResponse)
        codes.append(answer.error_code)
    assert codes == [ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.NONE]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(Resource.BROKER_LOGGER, "root"), (Resource.CLIENT_METRICS, "interval.ms")],
)
def test_what_could_not_take_effect_is_set_on_kafka_alone(
    ours: Node, theirs: Node, kind: Resource, name: str
) -> None:
    value = "1000" if kind is Resource.CLIENT_METRICS else "INFO"
    codes = []
    for node in (ours, theirs):
        answer = ask(node, set_config(kind, "NODE", name, value), 1)
        assert isinstance(answer, IncrementalAlterConfigsResponse)
        codes.append(answer.responses[0].error_code)
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
