"""`kafkaesque schema …` against our registry, and what Confluent's client sees of it."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from tests import foreign
from tests.broker_process import COMMAND
from tests.commands import Commands, Done
from tests.in_process import InProcessBroker
from tests.registry_process import RegistryProcess
from tests.typing_user import typing_user

from kafkaesque.cli.main import main

pytestmark = pytest.mark.slow

TICK = {
    "type": "record",
    "name": "Tick",
    "namespace": "market",
    "fields": [{"name": "ticker", "type": "string"}, {"name": "price", "type": "double"}],
}
VOLUME = {"name": "volume", "type": "long"}
PROTO = 'syntax = "proto3";\npackage market;\nmessage Tick {\n  string ticker = 1;\n}\n'


class SchemaCommands(Commands):
    """As Commands; `bootstrap` is the registry's URL."""

    def __call__(self, *args: object) -> Done:
        self._capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main(["schema", *map(str, args), "--registry", self.bootstrap])
        return Done(int(end.value.code or 0), *self._capfd.readouterr())


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    log_path = tmp_path_factory.mktemp("registry") / "registry.log"
    with InProcessBroker(None) as broker, RegistryProcess(broker.bootstrap, log_path) as process:
        yield process


@pytest.fixture
def commands(registry: RegistryProcess, capfd: pytest.CaptureFixture[str]) -> SchemaCommands:
    return SchemaCommands(registry.url, capfd)


@pytest.fixture
def theirs(registry: RegistryProcess) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as client:
        yield client


@pytest.fixture
def subject() -> str:
    return foreign.name("ticks") + "-value"


def tick(directory: Path, *more: dict[str, Any], name: str = "tick.avsc") -> Path:
    path = directory / name
    path.write_text(json.dumps(TICK | {"fields": [*TICK["fields"], *more]}))
    return path


def two_versions(commands: SchemaCommands, subject: str, directory: Path) -> None:
    commands.succeed("register", subject, "--file", tick(directory))
    newer = tick(directory, VOLUME | {"default": 0}, name="newer.avsc")
    commands.succeed("register", subject, "--file", newer)


def test_what_is_registered_is_what_confluents_client_finds(
    commands: SchemaCommands, theirs: SchemaRegistryClient, subject: str, tmp_path: Path
) -> None:
    done = commands.succeed("register", subject, "--file", tick(tmp_path))
    assert done.rows[0] == ["SUBJECT", "VERSION", "ID", "TYPE"]
    found = theirs.get_latest_version(subject)
    assert done.rows[1] == [subject, "1", str(found.schema_id), "AVRO"]
    assert json.loads(str(found.schema.schema_str)) == TICK
    again = commands.succeed("register", subject, "--file", tick(tmp_path), "--format", "json").json
    assert (again["version"], again["id"]) == (1, found.schema_id)


def test_a_type_that_is_not_avro_and_what_comes_from_stdin(
    commands: SchemaCommands, theirs: SchemaRegistryClient, registry: RegistryProcess, subject: str
) -> None:
    command = [str(COMMAND), "schema", "register", subject, "--file", "-", "--type", "protobuf"]
    environment = os.environ | {"KAFKAESQUE_REGISTRY": registry.url}
    done = subprocess.run(
        command, input=PROTO, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == "PROTOBUF"
    assert theirs.get_latest_version(subject).schema.schema_type == "PROTOBUF"
    assert "string ticker = 1;" in commands.succeed("get", subject).out
    assert commands.succeed("get", subject, "--serialized").out.startswith("C")


def test_a_schema_may_refer_to_another(
    commands: SchemaCommands, theirs: SchemaRegistryClient, subject: str, tmp_path: Path
) -> None:
    money = foreign.name("money")
    (tmp_path / "money.avsc").write_text(
        '{"type": "record", "name": "market.Money", "fields": [{"name": "cents", "type": "int"}]}'
    )
    commands.succeed("register", money, "--file", tmp_path / "money.avsc")
    order = tick(tmp_path, {"name": "total", "type": "Money"})
    said = commands.complain("register", subject, "--file", order)
    assert "--reference" in said
    reference = f"market.Money={money}:1"
    commands.succeed("register", subject, "--file", order, "--reference", reference)
    found: Any = theirs.get_latest_version(subject).schema.references
    (named,) = found
    assert (named.name, named.subject, named.version) == ("market.Money", money, 1)
    told = commands.succeed("get", subject, "--format", "json").json
    assert told["references"] == [reference]
    assert commands.succeed("get", money, "--details", "--format", "json").json[
        "referenced_by"
    ] == [told["id"]]
    assert "cents" in commands.succeed("get", subject, "--resolved").out
    assert "refer to it first" in commands.complain("delete", money, "--no-confirm")
    compared = ("diff", subject, "1", "--file", order, "--format", "json")
    told = commands.succeed(*compared, "--reference", reference).json
    assert told["backward"] == {"compatible": True, "reasons": []}
    assert commands.succeed(*compared).json["backward"]["compatible"] is None


def test_subjects_are_listed_with_what_holds(
    commands: SchemaCommands, theirs: SchemaRegistryClient, subject: str, tmp_path: Path
) -> None:
    two_versions(commands, subject, tmp_path)
    theirs.set_compatibility(subject, level="FULL")
    number = str(theirs.get_latest_version(subject).schema_id)
    rows = commands.succeed("list", subject).rows
    assert rows == [
        ["SUBJECT", "VERSIONS", "LATEST-ID", "TYPE", "COMPATIBILITY"],
        [subject, "1-2", number, "AVRO", "FULL"],
    ]
    theirs.delete_version(subject, 1)
    (told,) = commands.succeed("list", subject, "--deleted", "--format", "json").json
    assert (told["versions"], told["deleted"]) == ([2], [1])
    assert commands.succeed("list", "nothing-begins-so").rows[1:] == []


def test_a_schema_is_got_by_place_id_and_guid(
    commands: SchemaCommands, subject: str, tmp_path: Path
) -> None:
    two_versions(commands, subject, tmp_path)
    assert json.loads(commands.succeed("get", f"{subject}:1").out) == TICK
    told = commands.succeed("get", f"{subject}:1", "--format", "json").json
    assert (told["subject"], told["version"], told["type"]) == (subject, 1, "AVRO")
    assert f"{subject}:1" in told["places"]
    for option in ("id", "guid"):
        assert json.loads(commands.succeed("get", f"--{option}", told[option]).out) == TICK
    details = commands.succeed("get", "--id", told["id"], "--details")
    assert details.rows[2] == ["ID", str(told["id"])]
    assert json.loads(details.lines[-1]) == TICK
    said = commands.complain("get", f"{subject}:9")
    assert "see which versions there are" in said
    assert "kafkaesque schema list" in commands.complain("get", "no-such-subject")


def test_a_terminal_is_shown_readable_json_and_asked_before_a_deletion(
    commands: SchemaCommands, registry: RegistryProcess, subject: str, tmp_path: Path
) -> None:
    two_versions(commands, subject, tmp_path)
    with typing_user("schema", "get", f"{subject}:1", "--registry", registry.url) as user:
        assert user.exit_code() == 0
        assert json.dumps(TICK, indent=2) in user.screen
    with typing_user("schema", "delete", subject, "--registry", registry.url) as user:
        user.see("[y/N]")
        assert f"{subject}: versions 1-2" in user.screen
        user.type("n\n")
        assert user.exit_code() == 1
        assert "Nothing is deleted." in user.screen
    assert commands.succeed("list", subject).rows[1][1] == "1-2"


def test_deleted_softly_and_for_good(
    commands: SchemaCommands, theirs: SchemaRegistryClient, subject: str, tmp_path: Path
) -> None:
    two_versions(commands, subject, tmp_path)
    number = theirs.get_version(subject, 1).schema_id
    assert "--no-confirm" in commands.complain("delete", subject)
    done = commands.succeed("delete", subject, "--version", "1", "--no-confirm")
    assert done.lines[1].split(maxsplit=2) == [subject, "1", "OK: deleted"]
    assert theirs.get_versions(subject) == [2]
    assert json.loads(commands.succeed("get", "--id", number).out) == TICK
    done = commands.succeed("delete", subject, "--permanent", "--no-confirm", "--format", "json")
    assert done.json == {"subject": subject, "versions": [1, 2], "permanent": True}
    assert commands.succeed("list", subject, "--deleted").rows[1:] == []
    assert "not found" in commands.complain("delete", subject, "--no-confirm")


def test_a_check_says_every_reason_and_ends_with_1(
    commands: SchemaCommands, subject: str, tmp_path: Path
) -> None:
    commands.succeed("register", subject, "--file", tick(tmp_path))
    good = tick(tmp_path, VOLUME | {"default": 0}, name="good.avsc")
    done = commands.succeed("check", subject, "--file", good)
    assert done.out == f"Compatible with the latest version of {subject} (BACKWARD)\n"
    bad = tick(tmp_path, VOLUME, {"name": "venue", "type": "string"}, name="bad.avsc")
    for option in (["--version", "1"], ["--all"], []):
        done = commands("check", subject, "--file", bad, *option)
        assert (done.exit_code, done.err) == (1, "")
        assert done.lines[0].startswith("NOT compatible with the ") or option[:1] == ["--version"]
        assert [('"volume"' in line, '"venue"' in line) for line in done.lines[1:]] == [
            (True, False),
            (False, True),
        ]
    told = commands("check", subject, "--file", bad, "--format", "json")
    assert (told.exit_code, told.json["compatible"], len(told.json["reasons"])) == (1, False, 2)
    said = commands.complain("register", subject, "--file", bad)
    assert "kafkaesque schema diff" in said


def test_a_diff_shows_fields_lines_and_both_verdicts(
    commands: SchemaCommands, subject: str, tmp_path: Path
) -> None:
    two_versions(commands, subject, tmp_path)
    out = commands.succeed("diff", subject).out
    assert out.startswith("+ volume: long = 0\n")
    assert f"--- {subject} version 1\n+++ {subject} version 2\n" in out
    assert "backward: the new schema can read what the old one wrote\n" in out
    assert commands.succeed("diff", subject, "1", "latest").out == out
    assert "are the same" in commands.succeed("diff", subject, "2").out
    stricter = tick(tmp_path, VOLUME, name="stricter.avsc")
    told = commands.succeed("diff", subject, "1", "--file", stricter, "--format", "json").json
    assert told["changes"] == [{"change": "added", "field": "volume", "text": "long"}]
    assert told["backward"]["compatible"] is False
    assert "volume" in told["backward"]["reasons"][0]
    assert told["forward"] == {"compatible": True, "reasons": []}
    alone = foreign.name("alone")
    commands.succeed("register", alone, "--file", stricter)
    assert "--file FILE" in commands.complain("diff", alone)


def test_json_schemas_are_compared_by_field_and_protobuf_by_line(
    commands: SchemaCommands, subject: str, tmp_path: Path
) -> None:
    price = {"type": "object", "properties": {"price": {"type": "integer"}}}
    (tmp_path / "tick.json").write_text(json.dumps(price))
    commands.succeed("register", subject, "--file", tmp_path / "tick.json")
    (tmp_path / "tick.json").write_text(json.dumps(price | {"required": ["price"]}))
    told = commands.succeed(
        "diff", subject, "--file", tmp_path / "tick.json", "--format", "json"
    ).json
    assert told["changes"] == [{"change": "changed", "field": "price", "text": "now required"}]
    assert (told["backward"]["compatible"], told["forward"]["compatible"]) == (False, True)

    messages = foreign.name("messages")
    (tmp_path / "tick.proto").write_text(PROTO)
    commands.succeed("register", messages, "--file", tmp_path / "tick.proto")
    (tmp_path / "tick.proto").write_text(PROTO.replace("string ticker = 1", "int32 ticker = 1"))
    told = commands.succeed(
        "diff", messages, "--file", tmp_path / "tick.proto", "--format", "json"
    ).json
    assert told["changes"] is None
    assert "+  int32 ticker = 1;" in told["lines"]
    assert told["backward"]["compatible"] is told["forward"]["compatible"] is False
    mixed = tick(tmp_path)
    assert "neither" in str(commands("check", messages, "--file", mixed).out)
    assert "PROTOBUF and the other AVRO" in commands.succeed("diff", messages, "--file", mixed).out


def test_levels_and_modes_are_shown_set_and_taken_away(
    commands: SchemaCommands, theirs: SchemaRegistryClient, subject: str, tmp_path: Path
) -> None:
    path = tick(tmp_path)
    commands.succeed("register", subject, "--file", path)
    assert commands.succeed("config").rows[1] == ["(global)", "BACKWARD", "global"]
    assert commands.succeed("config", subject).rows[1] == [subject, "BACKWARD", "global"]
    done = commands.succeed("config", subject, "--set", "full_transitive")
    assert done.rows[1] == [subject, "FULL_TRANSITIVE", "subject"]
    assert theirs.get_compatibility(subject) == "FULL_TRANSITIVE"
    assert commands.succeed("config", subject, "--unset").rows[1][1:] == ["BACKWARD", "global"]
    assert commands.succeed("config", subject, "--unset").rows[1][1:] == ["BACKWARD", "global"]

    assert commands.succeed("mode").rows[1] == ["(global)", "READWRITE", "global"]
    assert commands.succeed("mode", subject, "--set", "READONLY").rows[1][1:] == [
        "READONLY",
        "subject",
    ]
    newer = tick(tmp_path, VOLUME | {"default": 0})
    assert "kafkaesque schema mode" in commands.complain("register", subject, "--file", newer)
    told = commands.succeed("mode", subject, "--unset", "--format", "json").json
    assert told == {"subject": subject, "mode": "READWRITE", "source": "global"}
    commands.succeed("register", subject, "--file", newer)


def test_subjects_are_completed(
    commands: SchemaCommands, registry: RegistryProcess, tmp_path: Path
) -> None:
    first, second = sorted(foreign.name("completed") for _ in range(2))
    for subject in (first, second):
        commands.succeed("register", subject, "--file", tick(tmp_path))
    line = "kafkaesque schema get completed"
    asked = {"_KAFKAESQUE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "3"}

    def completed(url: str) -> list[str]:
        done = subprocess.run(
            [str(COMMAND)],
            env=asked | {"KAFKAESQUE_REGISTRY": url},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stderr == ""
        return done.stdout.split()

    # A Tab has a second's patience: on a busy machine it is pressed again.
    foreign.until(lambda: completed(registry.url) == [first, second])
    assert completed("http://127.0.0.1:1") == []
