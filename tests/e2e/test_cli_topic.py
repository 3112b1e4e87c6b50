"""`kafkaesque topic …`: topics are made, listed, described, changed, trimmed and deleted."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests import foreign
from tests.commands import Commands
from tests.in_process import InProcessBroker
from tests.typing_user import CTRL_C, typing_user

from kafkaesque.testing import Kafka


@pytest.fixture
def commands(capfd: pytest.CaptureFixture[str]) -> Iterator[Commands]:
    with InProcessBroker(None) as broker:
        yield Commands(broker.bootstrap, capfd)


def test_a_topic_is_made_listed_and_deleted(commands: Commands) -> None:
    made = commands.succeed("topic", "create", "orders", "-p", 3, "-r", 1)
    assert made.out == "TOPIC   STATUS\norders  OK\n"
    listed = commands.succeed("topic", "list")
    assert listed.out == "NAME    PARTITIONS  REPLICAS\norders  3           1\n"
    assert commands.succeed("topic", "delete", "orders").out == "TOPIC   STATUS\norders  OK\n"
    assert commands.succeed("topic", "list").out == "NAME  PARTITIONS  REPLICAS\n"


@pytest.mark.slow
def test_brokers_may_be_named_before_or_after_the_command(commands: Commands) -> None:
    commands.succeed("topic", "--brokers", "127.0.0.1:1", "create", "orders")
    assert commands.succeed("topic", "list").rows[1][0] == "orders"


def test_describe_shows_what_is_not_at_its_default_and_all_if_asked(commands: Commands) -> None:
    commands.succeed("topic", "create", "orders", "-c", "retention.ms=86400000")
    rows = commands.succeed("topic", "describe", "orders").rows
    assert ["cleanup.policy", "delete", "false", "false"] in rows
    assert ["retention.ms", "86400000", "false", "false"] in rows
    assert "segment.bytes" not in [row[0] for row in rows]
    rows = commands.succeed("topic", "describe", "orders", "--print-all").rows
    assert "segment.bytes" in [row[0] for row in rows]


def test_a_compacted_topic_shows_when_the_cleaner_runs_and_what_it_has_left(
    commands: Commands,
) -> None:
    policy = ["-c", "cleanup.policy=compact,delete", "-c", "min.cleanable.dirty.ratio=0.1"]
    commands.succeed("topic", "create", "prices", "-p", 2, *policy)
    foreign.produce(commands.bootstrap, foreign.create_topic(commands.bootstrap, "orders"), ["a"])
    rows = commands.succeed("topic", "describe", "prices").rows
    assert ["min.cleanable.dirty.ratio", "0.1", "false", "false"] in rows
    assert ["delete.retention.ms", "86400000", "false", "false"] in rows
    assert rows[-3][-6:] == ["Log", "Start", "Offset", "Size", "Compacted", "To"]
    assert rows[-1][-4:] == ["0", "0", "0", "0"]
    rows = commands.succeed("topic", "describe", "orders").rows
    assert rows[-2][-2:] == ["High", "Watermark"]
    assert "delete.retention.ms" not in [row[0] for row in rows]
    (told,) = commands.succeed("topic", "describe", "orders", "--format", "json").json
    assert told["partitions"][0]["size"] > 60


def test_sizes_that_nobody_tells_are_left_open(
    kafka: Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = Commands(kafka.bootstrap_servers, capfd)
    foreign.create_topic(commands.bootstrap, "prices", configs={"cleanup.policy": "compact"})
    kafka.faults.drop("DescribeLogDirs")
    assert commands.succeed("topic", "describe", "prices").rows[-1][-3:] == ["0", "-", "-"]


@pytest.mark.slow
def test_partitions_are_described_page_by_page(commands: Commands) -> None:
    commands.succeed("topic", "create", "orders", "-p", 5)
    page = commands.succeed("topic", "describe", "orders", "--page", 2, "--page-size", 2).lines
    assert page[-4].split() == ["Partitions", "3", "-", "4", "out", "of", "5"]
    assert [line.split()[0] for line in page[-2:]] == ["2", "3"]
    last = commands.succeed("topic", "describe", "orders", "--page", 3, "--page-size", 2).lines
    assert last[-3].split() == ["Partitions", "5", "-", "5", "out", "of", "5"]
    told = commands.complain("topic", "describe", "orders", "--page", 4, "--page-size", 2)
    assert "there is no page 4 of 3: give a smaller --page" in told


def test_several_topics_are_described_with_a_blank_line_between(commands: Commands) -> None:
    commands.succeed("topic", "create", "a", "b")
    text = commands.succeed("topic", "describe", "b", "a").out
    first, second = text.split("\n\n")
    assert first.split()[:2] == ["Name", "b"]
    assert second.split()[:2] == ["Name", "a"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_json_and_yaml_say_everything(commands: Commands, form: str) -> None:
    def data(*args: object) -> Any:
        return yaml.safe_load(commands("topic", *args, "--format", form).out)

    made = data("create", "orders", "-p", 2)
    assert made == [{"topic": "orders", "error": None, "status": "OK"}]
    assert data("list") == [{"name": "orders", "partitions": 2, "replicas": 1}]
    (described,) = data("describe", "orders")
    assert (described["name"], described["internal"]) == ("orders", False)
    assert described["partitions"][1] == {
        "partition": 1,
        "leader": 0,
        "replicas": [0],
        "in_sync_replicas": [0],
        "log_start_offset": 0,
        "size": 0,
        "cleaned_to": None,
        "high_watermark": 0,
    }
    policies = [entry for entry in described["configs"] if entry["name"] == "cleanup.policy"]
    assert policies == [
        {
            "name": "cleanup.policy",
            "value": "delete",
            "source": "DEFAULT_CONFIG",
            "read_only": False,
            "sensitive": False,
        }
    ]
    (failed,) = data("delete", "missing")
    assert failed["error"] == "UNKNOWN_TOPIC_OR_PARTITION"
    assert data("trim", "orders", "-o", "end", "-p", 1, "--no-confirm") == [
        {"topic": "orders", "partition": 1, "start": 0, "error": None, "status": "OK"}
    ]


@pytest.mark.slow
def test_one_topic_that_fails_does_not_stop_the_others(commands: Commands) -> None:
    commands.succeed("topic", "create", "old")
    made = commands("topic", "create", "old", "new", "no good", "new")
    assert made.exit_code == 1
    statuses = dict(line.split("  ", 1) for line in made.lines[1:])
    assert statuses["old"].strip().startswith("TOPIC_ALREADY_EXISTS: ")
    assert "kafkaesque topic describe old" in statuses["old"]
    assert statuses["new"].strip() == "OK"
    assert statuses["no good"].strip().startswith("INVALID_TOPIC_EXCEPTION: ")

    described = commands("topic", "describe", "new", "missing")
    assert described.exit_code == 1
    assert described.rows[0] == ["Name", "new"]
    assert described.err.startswith("kafkaesque: topic missing: UNKNOWN_TOPIC_OR_PARTITION: ")
    assert "kafkaesque topic list" in described.err

    deleted = commands("topic", "delete", "missing", "new")
    assert deleted.exit_code == 1
    assert [row[:2] for row in deleted.rows[1:]] == [
        ["missing", "UNKNOWN_TOPIC_OR_PARTITION:"],
        ["new", "OK"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("config", ["nonsense=1", "retention.ms=soon", "cleanup.policy=burn"])
def test_a_wrong_config_is_named_and_nothing_is_made(commands: Commands, config: str) -> None:
    made = commands("topic", "create", "orders", "-c", config)
    assert made.exit_code == 1
    assert "INVALID_CONFIG: " in made.out
    assert config.partition("=")[0] in made.out
    assert commands.succeed("topic", "list").out == "NAME  PARTITIONS  REPLICAS\n"


def test_an_empty_name_is_one_line_of_complaint(commands: Commands) -> None:
    assert "Empty topic name" in commands.complain("topic", "describe", "")


def test_internal_topics_are_listed_when_asked_for(commands: Commands) -> None:
    commands.succeed("topic", "create", "orders", "__mine")
    assert "__mine" not in commands.succeed("topic", "list").out
    assert "__mine" in commands.succeed("topic", "list", "--internal").out


@pytest.mark.slow
def test_partitions_are_added_to_those_there_are(commands: Commands) -> None:
    commands.succeed("topic", "create", "orders", "prices", "-p", 2)
    added = commands("topic", "add-partitions", "orders", "missing", "--num", 3)
    assert added.exit_code == 1
    assert [row[:2] for row in added.rows[1:]] == [
        ["orders", "OK"],
        ["missing", "UNKNOWN_TOPIC_OR_PARTITION:"],
    ]
    assert [row[:2] for row in commands.succeed("topic", "list").rows[1:]] == [
        ["orders", "5"],
        ["prices", "2"],
    ]


@pytest.mark.slow
def test_partitions_of_internal_topics_are_added_only_by_force(commands: Commands) -> None:
    commands.succeed("topic", "create", "__mine")
    told = commands.complain("topic", "add-partitions", "__mine", "-n", 1)
    assert "__mine is an internal topic: give --force" in told
    commands.succeed("topic", "add-partitions", "__mine", "-n", 1, "--force")
    assert commands.succeed("topic", "list", "-i").rows[1][1] == "2"


def test_settings_are_set_put_back_added_to_and_taken_from(commands: Commands) -> None:
    def setting(name: str) -> str | None:
        entry = foreign.topic_configs(commands.bootstrap, "orders")[name]
        return None if entry.is_default else entry.value

    alter = ["topic", "alter-config", "orders"]
    commands.succeed("topic", "create", "orders")
    changed = ["--set", "retention.ms=60000", "-s", "segment.bytes=1048576"]
    assert commands.succeed(*alter, *changed).out == "TOPIC   STATUS\norders  OK\n"
    assert (setting("retention.ms"), setting("segment.bytes")) == ("60000", "1048576")
    commands.succeed(*alter, "--delete", "retention.ms", "--append", "cleanup.policy=compact")
    assert (setting("retention.ms"), setting("segment.bytes")) == (None, "1048576")
    assert setting("cleanup.policy") == "delete,compact"
    commands.succeed(*alter, "--subtract", "cleanup.policy=delete")
    assert setting("cleanup.policy") == "compact"


@pytest.mark.slow
def test_a_wrong_setting_is_named_with_its_cure(commands: Commands) -> None:
    commands.succeed("topic", "create", "orders")
    altered = commands("topic", "alter-config", "orders", "missing", "--set", "nonsense=1")
    assert altered.exit_code == 1
    assert altered.rows[1][:2] == ["orders", "INVALID_CONFIG:"]
    assert "nonsense" in altered.lines[1]
    assert "--print-all" in altered.lines[1]
    assert altered.rows[2][:2] == ["missing", "UNKNOWN_TOPIC_OR_PARTITION:"]


@pytest.fixture
def filled(commands: Commands) -> str:
    """Four records in the first partition, two in the second, at 1, 2, 3 … seconds."""
    topic = foreign.create_topic(commands.bootstrap, "orders", 2)
    foreign.produce(commands.bootstrap, topic, list("abcd"), 0, [1000, 2000, 3000, 4000])
    foreign.produce(commands.bootstrap, topic, list("ef"), 1, [1000, 9000])
    return topic


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "starts"),
    [
        (["-o", "1"], ["1", "1"]),
        (["-o", "3", "-p", "0"], ["3", "0"]),
        (["-o", "end"], ["4", "2"]),
        (["-o", "end", "--partitions", "1"], ["0", "2"]),
        (["-o", "@1970-01-01T00:00:03Z"], ["2", "1"]),
        (["-o", "@1970-01-01T00:00:05Z"], ["4", "1"]),
        (["-o", "@-1h"], ["4", "2"]),
    ],
)
def test_a_topic_is_trimmed_to_an_offset_or_a_time(
    commands: Commands, filled: str, where: list[str], starts: list[str]
) -> None:
    trimmed = commands.succeed("topic", "trim", filled, *where, "--no-confirm")
    assert trimmed.rows[0] == ["TOPIC", "PARTITION", "NEW-START-OFFSET", "ERROR"]
    for _, partition, start, error in trimmed.rows[1:]:
        assert (start, error) == (starts[int(partition)], "-")
    lows = [foreign.watermarks(commands.bootstrap, filled, number)[0] for number in (0, 1)]
    assert [str(low) for low in lows] == starts


@pytest.mark.slow
def test_trimming_beyond_the_end_is_refused_for_that_partition(
    commands: Commands, filled: str
) -> None:
    trimmed = commands("topic", "trim", filled, "-o", 3, "--no-confirm")
    assert trimmed.exit_code == 1
    assert trimmed.rows[1] == ["orders", "0", "3", "-"]
    assert trimmed.rows[2][:4] == ["orders", "1", "-", "OFFSET_OUT_OF_RANGE:"]


@pytest.mark.slow
def test_nothing_is_trimmed_where_nobody_can_be_asked(commands: Commands, filled: str) -> None:
    assert "give --no-confirm" in commands.complain("topic", "trim", filled, "-o", "end")
    assert foreign.watermarks(commands.bootstrap, filled) == (0, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "exit_code", "start"), [("y", 0, 4), ("n", 1, 0), (CTRL_C, 130, 0)]
)
def test_at_a_terminal_it_shows_what_it_would_do_and_asks(
    commands: Commands, filled: str, answer: str, exit_code: int, start: int
) -> None:
    line = ["topic", "trim", filled, "-o", "end", "-p", 0, "-b", commands.bootstrap]
    with typing_user(*line) as user:
        user.see(
            "orders  0          0             4\nDelete the records before the new start? [y/N]: "
        )
        user.type(f"{answer}\n")
        assert user.exit_code() == exit_code
    assert foreign.watermarks(commands.bootstrap, filled) == (start, 4)


@pytest.mark.slow
def test_a_partition_or_a_topic_that_is_not_there_is_named(commands: Commands, filled: str) -> None:
    told = commands.complain("topic", "trim", filled, "-o", "end", "-p", 7, "--no-confirm")
    assert "there is no partition 7: " in told
    told = commands.complain("topic", "trim", "missing", "-o", "end", "--no-confirm")
    assert "there is no topic missing: " in told
    assert "kafkaesque topic create missing" in told
