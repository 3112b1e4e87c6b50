"""`kafkaesque` as a user runs it: a broker in one process, commands in others."""

import json
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from confluent_kafka import Producer
from tests import foreign
from tests.broker_process import COMMAND, BrokerProcess, free_port

from kafkaesque.cli.main import main

Done: TypeAlias = "subprocess.CompletedProcess[str]"
Topic: TypeAlias = Callable[..., Done]


def kafkaesque(*args: object) -> Done:
    command = [str(COMMAND), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def topic(broker: BrokerProcess, capfd: pytest.CaptureFixture[str]) -> Topic:
    """`topic("list")`, in this process: capfd sees what librdkafka would print past Python."""

    def run(*args: object) -> Done:
        capfd.readouterr()
        command = ["topic", *map(str, args), "--brokers", broker.bootstrap]
        with pytest.raises(SystemExit) as end:
            main(command)
        return subprocess.CompletedProcess(command, int(end.value.code or 0), *capfd.readouterr())

    return run


def assert_one_complaint(done: Done, *parts: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("kafkaesque: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


def test_the_installed_command_reaches_a_broker(broker: BrokerProcess) -> None:
    made = kafkaesque("topic", "create", "orders", "-b", broker.bootstrap)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "TOPIC   STATUS\norders  OK\n"


def test_a_topic_is_made_listed_described_and_deleted(topic: Topic) -> None:
    made = topic("create", "orders", "-p", 3, "-r", 1, "-c", "retention.ms=86400000")
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "TOPIC   STATUS\norders  OK\n"
    assert topic("list").stdout == "NAME    PARTITIONS  REPLICAS\norders  3           1\n"

    described = topic("describe", "orders")
    assert (described.returncode, described.stderr) == (0, "")
    assert described.stdout.startswith(
        "SUMMARY\n=======\nNAME        orders\nINTERNAL    false\nPARTITIONS  3\nREPLICAS    1\n\n"
        "CONFIGS\n=======\n"
    )
    settings = [line.split() for line in described.stdout.splitlines()]
    assert ["cleanup.policy", "delete", "DEFAULT_CONFIG"] in settings
    assert ["retention.ms", "86400000", "DYNAMIC_TOPIC_CONFIG"] in settings

    assert topic("delete", "orders").stdout == "TOPIC   STATUS\norders  OK\n"
    assert topic("list").stdout == "NAME  PARTITIONS  REPLICAS\n"


def test_key1_of_three_partitions_raises_the_high_watermark_of_partition_2(
    broker: BrokerProcess, topic: Topic
) -> None:
    topic("create", "topic1", "-p", 3)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2_random"})
    for value in (b"test", b"test2"):
        producer.produce("topic1", value, key=b"key1")
    assert producer.flush(20) == 0
    lines = topic("describe", "topic1").stdout.splitlines()
    assert [line.split() for line in lines[-3:]] == [
        ["0", "1", "[1]", "[1]", "0", "0"],
        ["1", "1", "[1]", "[1]", "0", "0"],
        ["2", "1", "[1]", "[1]", "0", "2"],
    ]


def test_json_says_the_same(topic: Topic) -> None:
    made = topic("create", "orders", "-p", 2, "--format", "json")
    assert json.loads(made.stdout) == [{"topic": "orders", "error": None, "status": "OK"}]
    listed = topic("list", "--format", "json")
    assert json.loads(listed.stdout) == [{"name": "orders", "partitions": 2, "replicas": 1}]
    (described,) = json.loads(topic("describe", "orders", "--format", "json").stdout)
    assert (described["name"], described["internal"]) == ("orders", False)
    assert described["partitions"][1] == {
        "partition": 1,
        "leader": 1,
        "replicas": [1],
        "in_sync_replicas": [1],
        "log_start_offset": 0,
        "high_watermark": 0,
    }
    policies = [entry for entry in described["configs"] if entry["name"] == "cleanup.policy"]
    assert policies == [{"name": "cleanup.policy", "value": "delete", "source": "DEFAULT_CONFIG"}]
    failed = topic("delete", "missing", "--format", "json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)[0]["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_one_topic_that_fails_does_not_stop_the_others(topic: Topic) -> None:
    topic("create", "old")
    made = topic("create", "old", "new", "no good", "new")
    assert made.returncode == 1
    statuses = dict(line.split("  ", 1) for line in made.stdout.splitlines()[1:])
    assert statuses["old"].strip().startswith("TOPIC_ALREADY_EXISTS: ")
    assert "kafkaesque topic describe old" in statuses["old"]
    assert statuses["new"].strip() == "OK"
    assert statuses["no good"].strip().startswith("INVALID_TOPIC_EXCEPTION: ")

    described = topic("describe", "new", "missing")
    assert described.returncode == 1
    assert "NAME        new" in described.stdout
    assert described.stderr.startswith("kafkaesque: topic missing: UNKNOWN_TOPIC_OR_PARTITION: ")
    assert "kafkaesque topic list" in described.stderr

    deleted = topic("delete", "missing", "new")
    assert deleted.returncode == 1
    assert [line.split()[:2] for line in deleted.stdout.splitlines()[1:]] == [
        ["missing", "UNKNOWN_TOPIC_OR_PARTITION:"],
        ["new", "OK"],
    ]


@pytest.mark.parametrize("config", ["nonsense=1", "retention.ms=soon", "cleanup.policy=burn"])
def test_a_wrong_config_is_named_and_nothing_is_made(topic: Topic, config: str) -> None:
    made = topic("create", "orders", "-c", config)
    assert made.returncode == 1
    assert "INVALID_CONFIG: " in made.stdout
    assert config.partition("=")[0] in made.stdout
    assert topic("list").stdout == "NAME  PARTITIONS  REPLICAS\n"


def test_an_empty_name_is_one_line_of_complaint(topic: Topic) -> None:
    assert_one_complaint(topic("describe", ""), "Empty topic name")


def test_partitions_default_to_the_brokers_setting(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", "--set", "num.partitions=4") as broker:
        kafkaesque("topic", "create", "orders", "-b", broker.bootstrap)
        listed = kafkaesque("topic", "list", "-b", broker.bootstrap)
        assert listed.stdout.splitlines()[1].split() == ["orders", "4", "1"]


def test_internal_topics_are_listed_when_asked_for(topic: Topic) -> None:
    topic("create", "orders", "__mine")
    assert "__mine" not in topic("list").stdout
    assert "__mine" in topic("list", "--internal").stdout


def test_each_listener_advertises_its_own_address(tmp_path: Path) -> None:
    outside = free_port()
    listen = f"127.0.0.1:{outside}=localhost:{outside}"
    with BrokerProcess(tmp_path / "data", "--listen", listen) as broker:
        assert foreign.advertised(broker.bootstrap) == broker.bootstrap
        assert foreign.advertised(f"127.0.0.1:{outside}") == f"localhost:{outside}"


def test_the_first_listener_advertises_what_it_is_told(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", "--advertise", "localhost:1") as broker:
        assert foreign.advertised(broker.bootstrap) == "localhost:1"


def test_an_advertised_address_that_cannot_be_reached_is_explained(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", "--advertise", "localhost:1") as broker:
        made = kafkaesque("topic", "create", "a", "-b", broker.bootstrap, "--timeout", 1)
        assert_one_complaint(made, "advertise")


def test_a_broker_prints_one_line_and_ends_with_0_when_told_to_stop(tmp_path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        command = [str(COMMAND), "broker", "--port", "0", "--data-dir", str(tmp_path / "data")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.send_signal(number)
            assert process.stdout.read() == ""
            assert process.wait(20) == 0
        assert "listening on 127.0.0.1:" in line
        assert ":0" not in line


def test_memory_keeps_no_files(tmp_path: Path) -> None:
    port = free_port()
    command = [str(COMMAND), "broker", "--port", str(port), "--memory"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        made = kafkaesque("topic", "create", "orders", "-b", f"127.0.0.1:{port}")
        process.terminate()
    assert made.stdout.endswith("orders  OK\n")
    assert list(tmp_path.iterdir()) == []


def test_the_environment_gives_defaults_and_options_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKAESQUE_HOST", "localhost")
    monkeypatch.setenv("KAFKAESQUE_PORT", "1")
    monkeypatch.setenv("KAFKAESQUE_DATA_DIR", str(tmp_path / "from-environment"))
    command = [str(COMMAND), "broker", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
    assert "listening on localhost:" in line
    assert "localhost:1 " not in line
    assert (tmp_path / "from-environment").is_dir()


def test_a_port_that_is_taken_names_itself_and_the_flag(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = kafkaesque("broker", "--port", port, "--data-dir", tmp_path / "data")
    assert_one_complaint(done, f"127.0.0.1:{port}", "--port")


@pytest.mark.parametrize(
    ("setting", "cure"),
    [
        ("num.partition=3", "num.partitions"),
        ("num.partitions=many", "num.partitions"),
        ("retention.ms=1", "log.retention.ms"),
    ],
)
def test_a_wrong_setting_is_named_with_its_cure(setting: str, cure: str) -> None:
    assert_one_complaint(kafkaesque("broker", "--memory", "--set", setting), "--set", cure)


def test_a_second_broker_on_the_same_data_is_refused(broker: BrokerProcess) -> None:
    done = kafkaesque("broker", "--port", "0", "--data-dir", broker.data_dir)
    assert_one_complaint(done, str(broker.data_dir))
