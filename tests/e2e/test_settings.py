"""Settings of topics and of the broker: what can be set takes effect, what cannot is refused."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, KafkaError, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.kafka_python import ConfigResource as PythonConfigResource
from tests.kafka_python import ConfigResourceType, KafkaAdminClient
from tests.wire.client import RawClient
from tests.wire.requests import batch, produce, produce_answer

from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkaesque.protocol.messages.produce import ProduceResponse
from kafkaesque.records.batch import Record, new_batch

pytestmark = pytest.mark.slow

TIMEOUT_S = foreign.TIMEOUT_S
QUICK = ("--set", "log.retention.check.interval.ms=50")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("settings") / "data", *QUICK) as process:
        yield process


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    return foreign.create_topic(broker.bootstrap)


def test_a_setting_is_set_and_deleted(broker: BrokerProcess, topic: str) -> None:
    foreign.alter(broker.bootstrap, topic, "retention.ms", "1234567")
    found = foreign.topic_configs(broker.bootstrap, topic)["retention.ms"]
    assert found.value == "1234567"
    assert ConfigSource(found.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert found.synonyms["log.retention.ms"].value == "604800000"
    foreign.alter(broker.bootstrap, topic, "retention.ms", None, AlterConfigOpType.DELETE)
    found = foreign.topic_configs(broker.bootstrap, topic)["retention.ms"]
    assert (found.value, found.is_default) == ("604800000", True)


def test_a_list_is_appended_to_and_subtracted_from(broker: BrokerProcess, topic: str) -> None:
    def policy() -> str | None:
        return foreign.topic_configs(broker.bootstrap, topic)["cleanup.policy"].value

    append, subtract = AlterConfigOpType.APPEND, AlterConfigOpType.SUBTRACT
    foreign.alter(broker.bootstrap, topic, "cleanup.policy", "compact", append)
    assert policy() == "delete,compact"
    foreign.alter(broker.bootstrap, topic, "cleanup.policy", "compact", append)
    assert policy() == "delete,compact"
    foreign.alter(broker.bootstrap, topic, "cleanup.policy", "delete", subtract)
    assert policy() == "compact"
    foreign.alter(broker.bootstrap, topic, "cleanup.policy", "compact", subtract)
    assert policy() == ""
    foreign.alter(broker.bootstrap, topic, "cleanup.policy", " delete , compact,delete")
    assert policy() == "delete,compact"
    code = foreign.refusal(
        foreign.alter, broker.bootstrap, topic, "retention.ms", "1", AlterConfigOpType.APPEND
    )
    assert code == KafkaError.INVALID_CONFIG


def test_a_full_alter_replaces_every_setting(broker: BrokerProcess, topic: str) -> None:
    foreign.alter(broker.bootstrap, topic, "retention.ms", "1234567")
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"segment.bytes": "2000000"})
    with pytest.warns(DeprecationWarning, match="alter_configs has been deprecated"):
        altered = foreign.admin(broker.bootstrap).alter_configs([resource])
    altered[resource].result(TIMEOUT_S)
    found = foreign.topic_configs(broker.bootstrap, topic)
    assert (found["segment.bytes"].value, found["retention.ms"].value) == ("2000000", "604800000")


def test_kafka_python_alters_describes_and_resets(broker: BrokerProcess, topic: str) -> None:
    python = KafkaAdminClient(bootstrap_servers=broker.bootstrap)

    def described() -> dict[str, str]:
        resource = PythonConfigResource(ConfigResourceType.TOPIC, topic)
        found = python.describe_configs([resource], config_filter="modified")["topic"][topic]
        return {name: entry["value"] for name, entry in found.items()}

    for incremental in (True, False):
        wanted = {"retention.bytes": "1000000"}
        resource = PythonConfigResource(ConfigResourceType.TOPIC, topic, wanted)
        answer = python.alter_configs([resource], incremental=incremental)
        assert answer == {"topic": {topic: "OK"}}
        assert described() == wanted
        python.reset_configs([resource], incremental=incremental)
        assert described() == {}
    python.close()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("compression.type", "rar"),
        ("remote.storage.enable", "true"),
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("cleanup.policy", ","),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("message.timestamp.type", "Never"),
        ("no.such.setting", "1"),
    ],
)
def test_what_cannot_take_effect_is_refused(
    broker: BrokerProcess, topic: str, setting: str, value: str
) -> None:
    before = _values(broker, topic)
    code = foreign.refusal(foreign.alter, broker.bootstrap, topic, setting, value)
    assert code == KafkaError.INVALID_CONFIG
    assert _values(broker, topic) == before


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("preallocate", "true"),
        ("unclean.leader.election.enable", "true"),
        ("file.delete.delay.ms", "0"),
        ("segment.jitter.ms", "1000"),
    ],
)
def test_what_no_client_could_see_is_taken(
    broker: BrokerProcess, topic: str, setting: str, value: str
) -> None:
    """As where a tool copies the settings of a topic from another cluster."""
    foreign.alter(broker.bootstrap, topic, setting, value)
    assert _values(broker, topic)[setting] == value
    assert foreign.produce(broker.bootstrap, topic, ["v"]) == [0]


def test_one_bad_setting_refuses_all_of_a_request(broker: BrokerProcess, topic: str) -> None:
    entries = [
        ConfigEntry("retention.ms", "5", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("segment.bytes", "x", incremental_operation=AlterConfigOpType.SET),
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    altered = foreign.admin(broker.bootstrap).incremental_alter_configs([resource])[resource]
    assert foreign.refusal(altered.result, TIMEOUT_S) == KafkaError.INVALID_CONFIG
    assert _values(broker, topic)["retention.ms"] == "604800000"


def test_a_null_value_is_refused(broker: BrokerProcess, topic: str) -> None:
    wanted = AlterConfigsResource(
        resource_type=2,
        resource_name=topic,
        configs=[AlterableConfig(name="retention.ms", config_operation=0, value=None)],
    )
    with RawClient(broker.bootstrap) as client:
        request = IncrementalAlterConfigsRequest(resources=[wanted])
        (answer,) = client.call(request, IncrementalAlterConfigsResponse, 1).responses
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_max_message_bytes_takes_effect(broker: BrokerProcess, topic: str) -> None:
    large = "x" * 5000
    assert foreign.produce(broker.bootstrap, topic, [large]) == [0]
    foreign.alter(broker.bootstrap, topic, "max.message.bytes", "2000")
    code = foreign.refusal(foreign.produce, broker.bootstrap, topic, [large])
    assert code == KafkaError.MSG_SIZE_TOO_LARGE
    foreign.alter(broker.bootstrap, topic, "max.message.bytes", "10000")
    assert foreign.produce(broker.bootstrap, topic, [large]) == [1]


def test_min_insync_replicas_asks_for_no_more_replicas_than_there_are(
    broker: BrokerProcess, topic: str
) -> None:
    """As in Kafka 4.3: what is made for a cluster, with two of three in sync, works here too."""
    foreign.alter(broker.bootstrap, topic, "min.insync.replicas", "2")
    assert foreign.produce(broker.bootstrap, topic, ["v"], acks="all") == [0]


def test_message_timestamp_type_takes_effect(broker: BrokerProcess, topic: str) -> None:
    given = int(time.time() * 1000) - 100_000
    foreign.produce(broker.bootstrap, topic, ["v"], timestamps=[given])
    foreign.alter(broker.bootstrap, topic, "message.timestamp.type", "LogAppendTime")
    foreign.produce(broker.bootstrap, topic, ["v"], timestamps=[given])
    (_, first), (kind, second) = (
        message.timestamp() for message in foreign.read(broker.bootstrap, topic, 2)
    )
    assert first == given
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert abs(second - time.time() * 1000) < 60_000


def test_timestamp_bounds_take_effect(broker: BrokerProcess, topic: str) -> None:
    foreign.alter(broker.bootstrap, topic, "message.timestamp.before.max.ms", "60000")
    old = int(time.time() * 1000) - 120_000
    code = foreign.refusal(foreign.produce, broker.bootstrap, topic, ["v"], timestamps=[old])
    assert code == KafkaError.INVALID_TIMESTAMP
    foreign.alter(broker.bootstrap, topic, "message.timestamp.before.max.ms", "600000")
    assert foreign.produce(broker.bootstrap, topic, ["v"], timestamps=[old]) == [0]


def test_segment_bytes_takes_effect(broker: BrokerProcess, topic: str) -> None:
    foreign.alter(broker.bootstrap, topic, "segment.bytes", "16384")
    _produce_in_batches(broker, topic, 50)
    sizes = [path.stat().st_size for path in broker.segments(topic)]
    assert len(sizes) == 4
    assert max(sizes) <= 16384


def test_retention_bytes_takes_effect(broker: BrokerProcess, topic: str) -> None:
    foreign.alter(broker.bootstrap, topic, "segment.bytes", "16384")
    _produce_in_batches(broker, topic, 100)
    assert foreign.watermarks(broker.bootstrap, topic) == (0, 100)
    foreign.alter(broker.bootstrap, topic, "retention.bytes", "40000")
    foreign.until(lambda: foreign.watermarks(broker.bootstrap, topic)[0] > 0)
    start, end = foreign.watermarks(broker.bootstrap, topic)
    assert end == 100
    foreign.until(lambda: int(broker.segments(topic)[0].stem) == start)
    assert 40_000 <= sum(path.stat().st_size for path in broker.segments(topic)) < 40_000 + 16384
    assert foreign.read(broker.bootstrap, topic, 1, offset=start)[0].offset() == start


def test_retention_ms_takes_effect_on_the_last_segment_too(
    broker: BrokerProcess, topic: str
) -> None:
    old = int(time.time() * 1000) - 7_200_000
    foreign.produce(broker.bootstrap, topic, ["old"] * 3, timestamps=[old] * 3)
    foreign.alter(broker.bootstrap, topic, "retention.ms", "3600000")
    foreign.until(lambda: foreign.watermarks(broker.bootstrap, topic) == (3, 3))
    assert foreign.produce(broker.bootstrap, topic, ["new"]) == [3]
    time.sleep(0.2)
    assert foreign.watermarks(broker.bootstrap, topic) == (3, 4)


def test_a_compacted_topic_is_not_subject_to_retention(broker: BrokerProcess) -> None:
    configs = {"cleanup.policy": "compact", "retention.ms": "1", "retention.bytes": "1"}
    topic = foreign.create_topic(broker.bootstrap, configs=configs)
    with RawClient(broker.bootstrap) as client:
        answer = client.call(produce(topic, 0, _keyed_batch()), ProduceResponse, 9)
        assert produce_answer(answer).error_code == 0
    time.sleep(0.3)
    assert foreign.watermarks(broker.bootstrap, topic) == (0, 1)


def test_a_topic_without_a_cleanup_policy_keeps_everything_until_records_are_deleted(
    broker: BrokerProcess,
) -> None:
    old = int(time.time() * 1000) - 10_000
    limits = {"retention.ms": "1", "retention.bytes": "1"}
    kept, gone = (
        foreign.create_topic(broker.bootstrap, configs={"cleanup.policy": policy, **limits})
        for policy in ("", "delete")
    )
    for topic in (kept, gone):
        foreign.produce(broker.bootstrap, topic, ["old"] * 3, timestamps=[old] * 3)
    # Retention goes through the topics in the order they were made: it has seen both.
    foreign.until(lambda: foreign.watermarks(broker.bootstrap, gone) == (3, 3))
    assert foreign.watermarks(broker.bootstrap, kept) == (0, 3)
    place = TopicPartition(kept, 0, 2)
    foreign.admin(broker.bootstrap).delete_records([place])[place].result(TIMEOUT_S)
    assert foreign.watermarks(broker.bootstrap, kept) == (2, 3)
    foreign.alter(broker.bootstrap, kept, "cleanup.policy", "delete")
    foreign.until(lambda: foreign.watermarks(broker.bootstrap, kept) == (3, 3))


def test_write_caching_is_a_setting_and_reads_see_what_is_written(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, configs={"write.caching": "true"})
    assert foreign.topic_configs(broker.bootstrap, topic)["write.caching"].value == "true"
    assert foreign.produce(broker.bootstrap, topic, ["a", "b"]) == [0, 1]
    assert foreign.values(foreign.read(broker.bootstrap, topic, 2)) == [b"a", b"b"]
    foreign.alter(broker.bootstrap, topic, "write.caching", "false")
    assert foreign.produce(broker.bootstrap, topic, ["c"]) == [2]


def test_settings_of_the_running_broker_become_the_defaults_of_topics(
    tmp_path: Path,
) -> None:
    with BrokerProcess(tmp_path / "data", "--set", "log.retention.bytes=5000000") as broker:
        topic = foreign.create_topic(broker.bootstrap)
        static = foreign.topic_configs(broker.bootstrap, topic)["retention.bytes"]
        assert static.value == "5000000"
        assert ConfigSource(static.source) is ConfigSource.STATIC_BROKER_CONFIG
        _alter_broker(broker, "message.max.bytes", "3000")
        found = foreign.topic_configs(broker.bootstrap, topic)["max.message.bytes"]
        assert found.value == "3000"
        broker.kill()
        broker.start()
        code = foreign.refusal(foreign.produce, broker.bootstrap, topic, ["x" * 4000])
        assert code == KafkaError.MSG_SIZE_TOO_LARGE
        _alter_broker(broker, "message.max.bytes", None)
        assert foreign.produce(broker.bootstrap, topic, ["x" * 4000]) == [0]


def test_a_broker_setting_that_is_read_at_start_says_so(broker: BrokerProcess) -> None:
    node = foreign.configs(broker.bootstrap, ResourceType.BROKER, "0")
    assert node["num.partitions"].is_read_only
    assert not node["log.retention.ms"].is_read_only
    code = foreign.refusal(_alter_broker, broker, "num.partitions", "9")
    assert code in (KafkaError.INVALID_REQUEST, KafkaError.INVALID_CONFIG)


def _alter_broker(broker: BrokerProcess, setting: str, value: str | None) -> None:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry(setting, value, incremental_operation=operation)
    resource = ConfigResource(ResourceType.BROKER, "0", incremental_configs=[entry])
    altered = foreign.admin(broker.bootstrap).incremental_alter_configs([resource])
    altered[resource].result(TIMEOUT_S)


def _values(broker: BrokerProcess, topic: str) -> dict[str, str | None]:
    found = foreign.topic_configs(broker.bootstrap, topic)
    return {name: entry.value for name, entry in found.items()}


def _produce_in_batches(broker: BrokerProcess, topic: str, count: int) -> None:
    """Batches of about a kilobyte."""
    with RawClient(broker.bootstrap) as client:
        for _ in range(count):
            records = batch([b"x" * 1000], timestamp=wall_clock())
            client.call(produce(topic, 0, records), ProduceResponse, 9)


def _keyed_batch() -> bytearray:
    return new_batch([Record(0, int(time.time() * 1000) - 1000, b"k", b"v", ())])
