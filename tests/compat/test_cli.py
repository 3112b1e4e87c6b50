"""`kafkaesque topic` commands on Apache Kafka itself. What they do on our broker is in tests/e2e/.

The session of seeds/002 without what only the node's number changes, then the other commands.
"""

import io
import sys
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.commands import Commands, Done
from tests.compat.apache_kafka import ApacheKafka

pytestmark = pytest.mark.compat


@pytest.fixture
def commands(apache_kafka: ApacheKafka, capfd: pytest.CaptureFixture[str]) -> Commands:
    return Commands(apache_kafka.bootstrap, capfd)


@pytest.fixture
def topic(commands: Commands) -> str:
    name = foreign.name("topic")
    made = commands.succeed("topic", "create", "-p", 3, name)
    assert made.out.endswith(f"{name}  OK\n")
    return name


@pytest.fixture
def produce(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    def run(typed: str, *args: object) -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
        done = commands("topic", "produce", *args)
        assert done.exit_code == 0, done.err
        return done

    return run


def high_watermarks(commands: Commands, topic: str) -> list[str]:
    rows = commands.succeed("topic", "describe", topic).rows
    heads = ["Partition", "Leader", "Replicas", "In-Sync", "Replicas", "High", "Watermark"]
    assert rows[-4] == heads
    assert rows[-5] == ["Partitions", "1", "-", "3", "out", "of", "3"]
    return [row[-1] for row in rows[-3:]]


def test_the_session_of_the_seeds(
    commands: Commands, topic: str, produce: Callable[..., Done]
) -> None:
    rows = commands.succeed("topic", "describe", topic).rows
    assert rows[:3] == [["Name", topic], ["Internal", "false"], ["Cleanup", "policy", "delete"]]
    assert rows[4:8] == [
        ["Name", "Value", "Read-only", "Sensitive"],
        ["partition_count", "3", "false", "false"],
        ["replication_factor", "1", "false", "false"],
        ["cleanup.policy", "delete", "false", "false"],
    ]
    assert high_watermarks(commands, topic) == ["0", "0", "0"]
    for offset, text in enumerate(["test\n", "test2\n"]):
        sent = produce(text, topic, "-k", "key1").out.splitlines()[1]
        assert sent.startswith(f"Sent record to partition 2 at offset {offset} with timestamp ")
    assert high_watermarks(commands, topic) == ["0", "0", "2"]
    for group in (foreign.name("group"), foreign.name("group2")):
        form = ["-f", r"%k %p %o %v"]
        read = commands.succeed("topic", "consume", "-g", group, topic, "-n", 2, *form)
        assert read.out == "key1 2 0 test\nkey1 2 1 test2\n"
        behind = commands.succeed("cluster", "offsets", group).rows
        assert behind[-1][:7] == [group, topic, "2", "0", "0.00", "2", "2"]


def test_ranges_and_partitions_are_read(
    commands: Commands, topic: str, produce: Callable[..., Done]
) -> None:
    produce("a\nb\nc\n", topic, "-p", 1, "-f", r"%v\n")
    for offset, expected in [(":end", "abc"), ("-2:end", "bc"), ("1:2", "b"), ("@-1h:end", "abc")]:
        read = commands.succeed("topic", "consume", topic, "-o", offset, "-f", "%v")
        assert read.out == expected


def test_records_are_trimmed(commands: Commands, topic: str, produce: Callable[..., Done]) -> None:
    produce("a\nb\nc\n", topic, "-p", 1, "-f", r"%v\n")
    trimmed = commands.succeed("topic", "trim", topic, "-o", 2, "-p", 1, "--no-confirm")
    assert trimmed.rows[1] == [topic, "1", "2", "-"]
    assert commands.succeed("topic", "consume", topic, "-o", ":end", "-f", "%v").out == "c"
    refused = commands("topic", "trim", topic, "-o", 9, "-p", 1, "--no-confirm")
    assert refused.exit_code == 1
    assert refused.rows[1][:4] == [topic, "1", "-", "OFFSET_OUT_OF_RANGE:"]


def test_partitions_are_added(commands: Commands, topic: str) -> None:
    commands.succeed("topic", "add-partitions", topic, "--num", 2)
    listed = {row[0]: row[1] for row in commands.succeed("topic", "list").rows}
    assert listed[topic] == "5"


def test_settings_are_changed(commands: Commands, topic: str) -> None:
    change = ["--set", "retention.ms=60000", "--append", "cleanup.policy=compact"]
    commands.succeed("topic", "alter-config", topic, *change)
    rows = commands.succeed("topic", "describe", topic).rows
    assert ["retention.ms", "60000", "false", "false"] in rows
    assert ["cleanup.policy", "delete,compact", "false", "false"] in rows
    commands.succeed("topic", "alter-config", topic, "--delete", "retention.ms")
    rows = commands.succeed("topic", "describe", topic).rows
    assert "retention.ms" not in [row[0] for row in rows]


def test_a_compacted_topic_shows_when_the_cleaner_runs_and_what_it_has_left(
    commands: Commands,
) -> None:
    name = foreign.create_topic(commands.bootstrap, configs={"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": commands.bootstrap, "log_level": 0})
    producer.produce(name, "x" * 1000, key="k")
    producer.flush(foreign.TIMEOUT_S)
    rows = commands.succeed("topic", "describe", name).rows
    assert ["min.cleanable.dirty.ratio", "0.5", "false", "false"] in rows
    assert rows[-2][-6:] == ["Log", "Start", "Offset", "Size", "Compacted", "To"]
    high_watermark, start, size, compacted_to = rows[-1][-4:]
    # How far it has compacted, Kafka tells nobody.
    assert (high_watermark, start, compacted_to) == ("1", "0", "-")
    assert int(size) > 1000


def test_what_is_refused_is_named(commands: Commands, topic: str) -> None:
    made = commands("topic", "create", topic, "-c", "retention.ms=1")
    assert made.exit_code == 1
    assert made.rows[1][:2] == [topic, "TOPIC_ALREADY_EXISTS:"]
    altered = commands("topic", "alter-config", topic, "--set", "nonsense=1")
    assert altered.rows[1][:2] == [topic, "INVALID_CONFIG:"]
    assert commands("topic", "delete", topic, "missing").rows[1][:2] == [topic, "OK"]
