"""What is said of topics: the cure for each error that a cluster reports."""

import pytest

from kafkaesque.client.answers import Status
from kafkaesque.client.topics import PartitionState, Setting, Topic, cure
from kafkaesque.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.TOPIC_ALREADY_EXISTS, "kafkaesque topic describe orders"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "kafkaesque topic create orders"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "choose another name"),
        (ErrorCode.INVALID_CONFIG, "kafkaesque topic describe --print-all"),
        (ErrorCode.INVALID_PARTITIONS, "--partitions"),
        (ErrorCode.INVALID_REPLICATION_FACTOR, "--replicas"),
        (ErrorCode.OFFSET_OUT_OF_RANGE, "kafkaesque topic describe orders"),
    ],
)
def test_an_error_has_a_cure_that_names_the_topic(code: ErrorCode, words: str) -> None:
    assert words in cure(code, "orders")
    text = str(Status("orders", code, "because", cure(code, "orders")))
    assert text.startswith(f"{code.name}: because; ")


def test_a_status_without_a_known_cure_is_the_name_and_the_cause() -> None:
    code = ErrorCode.KAFKA_STORAGE_ERROR
    assert str(Status("orders", code, "disk", cure(code, "orders"))) == "KAFKA_STORAGE_ERROR: disk"
    assert str(Status("orders")) == "OK"


def test_a_topic_has_as_many_replicas_as_the_partition_with_the_most() -> None:
    states = [PartitionState(n, 0, [0] * n, [0], 0, 0) for n in (1, 3, 2)]
    assert Topic("orders", False, [], states).replicas == 3
    assert Topic("orders", False, [], []).replicas == 0


@pytest.mark.parametrize(
    ("value", "policies"),
    [("delete", {"delete"}), ("compact, delete", {"compact", "delete"}), (None, {""})],
)
def test_a_topic_may_have_several_policies(value: str | None, policies: set[str]) -> None:
    setting = Setting("cleanup.policy", value, "DEFAULT_CONFIG", False, False)
    assert Topic("orders", False, [setting], []).policies == policies
