"""Each injected fault, as confluent-kafka tells it to producers and consumers: its own error."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from tests import foreign
from tests.foreign import TIMEOUT_S, until

from kafkaesque.errors import ErrorCode
from kafkaesque.testing import Kafka

pytestmark = pytest.mark.slow

FOREVER_S = 3600
QUICK = {"retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "log_level": 0}
TOPIC = "t"


def deliver(kafka: Kafka, value: bytes = b"v", **settings: Any) -> KafkaError | None:
    """Produce one record: the error of its delivery report, or None."""
    names = {name.replace("_", "."): setting for name, setting in settings.items()}
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, **QUICK, **names})
    reports: list[KafkaError | None] = []
    producer.produce(TOPIC, value, partition=0, on_delivery=lambda e, _: reports.append(e))
    producer.flush(TIMEOUT_S)
    (report,) = reports
    return report


@pytest.fixture
def consumer(kafka: Kafka) -> Iterator[Consumer]:
    kafka.put(TOPIC, "v")
    found = foreign.consumer(
        kafka.bootstrap_servers,
        "g",
        heartbeat_interval_ms=50,
        fetch_error_backoff_ms=10,
        allow_auto_create_topics=False,
    )
    yield found
    kafka.faults.clear()
    found.close()


def first_error(consumer: Consumer) -> int:
    """Poll until an error comes."""
    found: list[Any] = []

    def is_told() -> bool:
        message = consumer.poll(1)
        if message is not None and (error := message.error()):
            found.append(error.code())
        return bool(found)

    until(is_told)
    return int(found[0])


def first_value(consumer: Consumer) -> bytes | None:
    """Poll until a record comes, through errors."""
    found: list[Any] = []

    def is_read() -> bool:
        message = consumer.poll(1)
        if message is not None and not message.error():
            found.append(message.value())
        return bool(found)

    until(is_read)
    value: bytes | None = found[0]
    return value


# Producing


@pytest.mark.parametrize(
    "error",
    ["NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "CORRUPT_MESSAGE"],
)
def test_a_produce_that_may_be_tried_again_is_and_arrives(kafka: Kafka, error: str) -> None:
    fault = kafka.faults.error("Produce", error, times=2)
    assert deliver(kafka) is None
    assert (fault.count, kafka.latest(TOPIC)) == (2, (0, "v"))


@pytest.mark.parametrize(
    "error",
    ["MESSAGE_TOO_LARGE", "TOPIC_AUTHORIZATION_FAILED", "INVALID_RECORD", "POLICY_VIOLATION"],
)
def test_a_produce_that_is_refused_for_good_is_reported(kafka: Kafka, error: str) -> None:
    kafka.create(TOPIC)
    fault = kafka.faults.error("Produce", error)
    report = deliver(kafka)
    assert report is not None
    assert report.code() == ErrorCode[error]
    assert (fault.count, len(kafka.topic(TOPIC))) == (1, 0)


def test_a_late_answer_is_a_message_that_timed_out(kafka: Kafka) -> None:
    kafka.faults.delay("Produce", seconds=FOREVER_S)
    report = deliver(kafka, message_timeout_ms=300)
    assert report is not None
    assert report.code() == KafkaError._MSG_TIMED_OUT


def test_a_producer_that_gives_up_at_once_reports_the_dropped_connection(kafka: Kafka) -> None:
    kafka.faults.drop("Produce", times=1)
    report = deliver(kafka, message_send_max_retries=0)
    assert report is not None
    assert report.code() == KafkaError._TRANSPORT
    assert deliver(kafka) is None


def test_a_dropped_produce_is_tried_again_and_arrives(kafka: Kafka) -> None:
    fault = kafka.faults.drop("Produce", times=2)
    assert deliver(kafka) is None
    assert (fault.count, kafka.latest(TOPIC)) == (2, (0, "v"))


def test_an_idempotent_producer_writes_once_though_the_answer_was_lost(kafka: Kafka) -> None:
    fault = kafka.faults.drop("Produce", after=True, times=2)
    assert deliver(kafka, enable_idempotence=True) is None
    assert (fault.count, list(kafka.topic(TOPIC))) == (2, ["v"])


def test_a_producer_without_idempotence_writes_twice_when_the_answer_is_lost(kafka: Kafka) -> None:
    kafka.faults.drop("Produce", after=True, times=1)
    assert deliver(kafka, enable_idempotence=False) is None
    assert list(kafka.topic(TOPIC)) == ["v", "v"]


def test_a_producer_id_that_is_denied_is_fatal(kafka: Kafka) -> None:
    kafka.create(TOPIC)
    kafka.faults.error("InitProducerId", "CLUSTER_AUTHORIZATION_FAILED")
    config = {"bootstrap.servers": kafka.bootstrap_servers, "enable.idempotence": True, **QUICK}
    producer = Producer(config)
    with pytest.raises(KafkaException) as caught:
        until(lambda: producer.poll(0.01) is None)
    assert caught.value.args[0].fatal()
    assert caught.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED
    assert foreign.refusal(producer.produce, TOPIC, b"v") == KafkaError._FATAL


def test_a_fault_by_chance_strikes_some_and_all_arrives_in_the_end(kafka: Kafka) -> None:
    fault = kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", probability=0.5, seed=4)
    for _ in range(10):
        assert deliver(kafka) is None
    assert fault.count > 0
    assert len(kafka.topic(TOPIC)) == 10


def test_a_producer_waits_for_a_leader(kafka: Kafka) -> None:
    kafka.create(TOPIC)
    fault = kafka.faults.error("Metadata", "LEADER_NOT_AVAILABLE", times=3)
    assert deliver(kafka, topic_metadata_refresh_fast_interval_ms=10) is None
    assert fault.count == 3


# Consuming


def test_an_offset_that_is_gone_is_an_error_if_so_configured(kafka: Kafka) -> None:
    kafka.put(TOPIC, "v")
    kafka.faults.error("Fetch", "OFFSET_OUT_OF_RANGE")
    reader = foreign.consumer(kafka.bootstrap_servers, auto_offset_reset="error")
    reader.assign([TopicPartition(TOPIC, 0, 0)])
    try:
        assert first_error(reader) == KafkaError._AUTO_OFFSET_RESET
    finally:
        reader.close()


def test_an_offset_that_is_gone_resets_the_reader(kafka: Kafka, consumer: Consumer) -> None:
    fault = kafka.faults.error("Fetch", "OFFSET_OUT_OF_RANGE", times=1)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    assert first_value(consumer) == b"v"
    assert fault.count == 1


def test_a_fetch_that_is_denied_is_told_and_then_goes_on(kafka: Kafka, consumer: Consumer) -> None:
    fault = kafka.faults.error("Fetch", "TOPIC_AUTHORIZATION_FAILED")
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    assert first_error(consumer) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    fault.remove()
    assert first_value(consumer) == b"v"


@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"])
def test_a_fetch_whose_leader_has_moved_is_asked_again(
    kafka: Kafka, consumer: Consumer, error: str
) -> None:
    fault = kafka.faults.error("Fetch", error, times=1)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    assert first_value(consumer) == b"v"
    assert fault.count == 1


def test_a_dropped_fetch_is_asked_again(kafka: Kafka, consumer: Consumer) -> None:
    fault = kafka.faults.drop("Fetch", times=2)
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    assert first_value(consumer) == b"v"
    assert fault.count == 2


def test_offsets_that_cannot_be_listed_are_refused(kafka: Kafka, consumer: Consumer) -> None:
    kafka.faults.error("ListOffsets", "TOPIC_AUTHORIZATION_FAILED")
    place = TopicPartition(TOPIC, 0)
    code = foreign.refusal(consumer.get_watermark_offsets, place, timeout=TIMEOUT_S)
    assert code == KafkaError.TOPIC_AUTHORIZATION_FAILED


# Groups


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("FindCoordinator", "GROUP_AUTHORIZATION_FAILED"),
        ("JoinGroup", "GROUP_AUTHORIZATION_FAILED"),
        ("JoinGroup", "INCONSISTENT_GROUP_PROTOCOL"),
        ("JoinGroup", "GROUP_MAX_SIZE_REACHED"),
    ],
)
def test_a_group_that_cannot_be_joined_is_an_error(
    kafka: Kafka, consumer: Consumer, api: str, error: str
) -> None:
    kafka.faults.error(api, error)
    consumer.subscribe([TOPIC])
    assert first_error(consumer) == ErrorCode[error]


@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("JoinGroup", "NOT_COORDINATOR"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
        ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_a_group_is_joined_in_spite_of_an_error_that_passes(
    kafka: Kafka, consumer: Consumer, api: str, error: str
) -> None:
    fault = kafka.faults.error(api, error, times=1)
    consumer.subscribe([TOPIC])
    assert first_value(consumer) == b"v"
    assert fault.count == 1


@pytest.mark.parametrize("api", ["FindCoordinator", "JoinGroup", "SyncGroup", "OffsetFetch"])
def test_a_group_is_joined_though_a_connection_drops(
    kafka: Kafka, consumer: Consumer, api: str
) -> None:
    fault = kafka.faults.drop(api, times=1)
    consumer.subscribe([TOPIC])
    assert first_value(consumer) == b"v"
    assert fault.count == 1


@pytest.mark.parametrize("error", ["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"])
def test_a_heartbeat_can_call_for_a_rebalance(kafka: Kafka, consumer: Consumer, error: str) -> None:
    assigned: list[Any] = []
    consumer.subscribe([TOPIC], on_assign=lambda _, partitions: assigned.append(partitions))
    assert first_value(consumer) == b"v"
    fault = kafka.faults.error("Heartbeat", error, times=1)
    until(lambda: consumer.poll(0.05) is None and len(assigned) == 2)
    assert fault.count == 1


@pytest.mark.kafka(settings={"group.min.session.timeout.ms": 100})
def test_a_member_that_is_told_it_is_unknown_joins_as_another(kafka: Kafka) -> None:
    kafka.put(TOPIC, "v")
    lost: list[Any] = []
    reader = foreign.consumer(
        kafka.bootstrap_servers, session_timeout_ms=3000, heartbeat_interval_ms=50
    )
    reader.subscribe([TOPIC], on_lost=lambda _, partitions: lost.append(partitions))
    try:
        assert first_value(reader) == b"v"
        kafka.faults.error("Heartbeat", "UNKNOWN_MEMBER_ID", times=1)
        assert first_value(reader) == b"v"
        assert len(lost) == 1
    finally:
        reader.close()


@pytest.mark.parametrize(
    "error",
    ["GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "OFFSET_METADATA_TOO_LARGE"],
)
def test_a_commit_that_is_refused_raises(kafka: Kafka, consumer: Consumer, error: str) -> None:
    offsets = [TopicPartition(TOPIC, 0, 1)]
    with kafka.faults.error("OffsetCommit", error):
        code = foreign.refusal(consumer.commit, offsets=offsets, asynchronous=False)
        assert code == ErrorCode[error]
    assert kafka.committed("g", TOPIC) is None
    consumer.commit(offsets=offsets, asynchronous=False)
    assert kafka.committed("g", TOPIC) == 1


def test_committed_offsets_that_are_refused_raise(kafka: Kafka, consumer: Consumer) -> None:
    kafka.faults.error("OffsetFetch", "GROUP_AUTHORIZATION_FAILED")
    code = foreign.refusal(consumer.committed, [TopicPartition(TOPIC, 0)], timeout=TIMEOUT_S)
    assert code == KafkaError.GROUP_AUTHORIZATION_FAILED


def test_a_committed_offset_of_one_partition_is_refused_in_it(
    kafka: Kafka, consumer: Consumer
) -> None:
    kafka.faults.error("OffsetFetch", "TOPIC_AUTHORIZATION_FAILED")
    (found,) = consumer.committed([TopicPartition(TOPIC, 0)], timeout=TIMEOUT_S)
    assert found.error is not None
    assert found.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
