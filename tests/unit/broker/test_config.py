"""Settings: what parses, what follows what, and what is refused with which words."""

from pathlib import Path

import pytest

from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.config import BrokerConfig, Config, Listener
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS
from kafkaesque.errors import ErrorCode, KafkaError, StartError
from kafkaesque.types import TopicPartition

LISTENERS = (Listener("127.0.0.1", 0),)


@pytest.mark.parametrize("name", [*BROKER_SETTINGS])
def test_every_broker_default_is_valid(name: str) -> None:
    Config({})
    assert BROKER_SETTINGS[name].doc


@pytest.mark.parametrize("name", [*TOPIC_SETTINGS])
def test_every_topic_setting_follows_a_setting_that_exists(name: str) -> None:
    follows = TOPIC_SETTINGS[name].follows
    assert follows is None or follows in BROKER_SETTINGS
    if follows:
        assert TOPIC_SETTINGS[name].default == BROKER_SETTINGS[follows].default


def test_a_topic_follows_the_broker_until_it_is_set() -> None:
    config = Config({"log.retention.ms": "1000"})
    assert config.topic({}).log.retention_ms == 1000
    assert config.topic({"retention.ms": "5"}).log.retention_ms == 5


def test_a_setting_over_the_wire_wins_over_the_command_line() -> None:
    config = Config({"log.segment.bytes": "2048"})
    config.dynamic["log.segment.bytes"] = "4096"
    config.refresh()
    assert config.topic({}).log.segment_bytes == 4096


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "soon"),
        ("retention.ms", "-2"),
        ("segment.bytes", "12"),
        ("segment.bytes", str(1 << 40)),
        ("cleanup.policy", "shred"),
        ("cleanup.policy", ","),
        ("compression.type", "rar"),
        ("file.delete.delay.ms", "-1"),
        ("segment.jitter.ms", "-1"),
        ("remote.storage.enable", "true"),
        ("message.timestamp.type", "Whenever"),
        ("write.caching", "maybe"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("no.such.setting", "1"),
    ],
)
def test_what_cannot_take_effect_is_refused(name: str, value: str) -> None:
    with pytest.raises(KafkaError, match=name) as caught:
        Config({}).topic({name: value})
    assert caught.value.code is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("", ()),
        (" ", ()),
        ("compact,compact", ("compact",)),
        (" delete , compact ", ("delete", "compact")),
    ],
)
def test_a_list_may_be_empty_and_counts_what_comes_twice_once(
    text: str, policy: tuple[str, ...]
) -> None:
    assert Config({}).topic({"cleanup.policy": text}).cleanup_policy == policy


def test_the_jitter_is_taken_off_by_each_partition_in_part() -> None:
    config = Config({}).topic({"segment.ms": "1000", "segment.jitter.ms": "400"})
    spans = [config.log_of(TopicPartition("t", index)).segment_ms for index in range(50)]
    assert all(600 < span <= 1000 for span in spans)
    assert len(set(spans)) > 20
    config = Config({}).topic({"segment.ms": "10", "segment.jitter.ms": str(2**63 - 1)})
    spans = [config.log_of(TopicPartition("t", index)).segment_ms for index in range(50)]
    assert all(0 < span <= 10 for span in spans)
    config = Config({}).topic({"segment.ms": "10"})
    assert config.log_of(TopicPartition("t", 0)) is config.log


def test_asking_for_flushes_ends_write_caching() -> None:
    assert Config({}).topic({"write.caching": "true"}).write_caching
    asked = {"write.caching": "true", "flush.messages": "1"}
    assert not Config({}).topic(asked).write_caching


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"num.partitions": "0"}, "at least 1"),
        ({"num.partition": "3"}, "num.partitions"),
        ({"retention.ms": "3"}, "--set log.retention.ms"),
        ({"cleanup.polly": "x"}, "no such setting"),
    ],
)
def test_a_broker_does_not_start_with_a_wrong_setting(settings: dict[str, str], words: str) -> None:
    with pytest.raises(StartError, match=words):
        BrokerConfig.of(LISTENERS, Path("data"), settings)
