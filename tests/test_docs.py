"""The reference documents what there is: every command, option and environment variable.

Options that all commands which talk to a cluster have are documented once, in a section of theirs,
and so are those of the commands that ask a schema registry, and of those that run a pipeline.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from scripts.write_reference import PAGES, REFERENCE
from tests.command_tree import COMMANDS
from tests.kafka_apis import KAFKA_APIS, ONLY_WITH_A_PLUGIN

from kafkaesque.broker.apis import APIS
from kafkaesque.cli.connecting import ClusterCommand
from kafkaesque.cli.schema.connecting import RegistryCommand

ROOT = Path(__file__).parents[1]
CLI = ROOT / "docs" / "reference" / "cli.md"


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options(command: Any) -> list[Any]:
    return [param for param in command.params if param.param_type_name == "option"]


def names(option: Any) -> list[str]:
    """As the reference quotes them."""
    return [f"`{name}`" for name in (*option.opts, *option.secondary_opts)]


def variables(option: Any) -> list[str]:
    return [f"`{option.envvar}`"] if option.envvar else []


SECTIONS = sections(CLI.read_text())
RUNS = "kafkaesque pipeline run"
OF_COMMANDS = {name.strip("`"): text for name, text in SECTIONS.items() if name.startswith("`")}
SHARED = (
    SECTIONS["Options of every command that talks to a cluster"]
    + SECTIONS["Options of every command that asks a schema registry"]
)
SHARED_OPTIONS = [*options(ClusterCommand("any")), *options(RegistryCommand("any"))]
SHARED_NAMES = {name for option in SHARED_OPTIONS for name in names(option)}
OF_RUNS = SECTIONS[f"Options of every `{RUNS}`"]
RUN_NAMES = set.intersection(
    *(
        {name for option in options(command) for name in names(option)}
        for command_name, command in COMMANDS.items()
        if command_name.startswith(RUNS)
    )
)


def test_the_reference_has_a_section_for_each_command_and_for_nothing_else() -> None:
    assert set(OF_COMMANDS) == set(COMMANDS)
    assert {"kafkaesque broker", "kafkaesque topic create"} <= set(COMMANDS)


def test_what_all_commands_share_is_in_the_section_of_that_name() -> None:
    spelled = [*SHARED_NAMES, *(name for option in SHARED_OPTIONS for name in variables(option))]
    assert [spelling for spelling in spelled if spelling not in SHARED] == []
    assert {"`--brokers`", "`--registry`"} <= SHARED_NAMES


def test_what_all_runs_of_pipelines_share_is_in_the_section_of_that_name() -> None:
    assert {"`--once`", "`--checkpoint`", "`--master`"} <= RUN_NAMES
    assert [name for name in RUN_NAMES - SHARED_NAMES if name not in OF_RUNS] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_in_its_commands_section(name: str) -> None:
    elsewhere = SHARED_NAMES | (RUN_NAMES if name.startswith(RUNS) else set())
    own = [option for option in options(COMMANDS[name]) if not elsewhere & set(names(option))]
    text = OF_COMMANDS[name]
    missing = [spelling for option in own for spelling in names(option) if spelling not in text]
    missing += [
        variable
        for option in own
        for variable in variables(option)
        if variable not in text and variable not in SHARED
    ]
    assert missing == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_section_mentions_no_option_that_is_not_there(name: str) -> None:
    text = OF_COMMANDS[name]
    mentioned = re.findall(r"^\| (`-.+?`)(?: [A-Z\[]|\s*\|)", text, flags=re.MULTILINE)
    spelled = {spelling for cell in mentioned for spelling in re.findall(r"`-[^`]+`", cell)}
    known = {spelling for option in options(COMMANDS[name]) for spelling in names(option)}
    assert spelled - {"`-h`", "`--help`"} <= known


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_made_from_the_tables_are_up_to_date(name: str) -> None:
    written = (REFERENCE / name).read_text()
    assert written == PAGES[name](), "run `python scripts/write_reference.py`"


def test_every_api_of_kafka_is_served_or_named_among_what_is_not() -> None:
    rows = sections((ROOT / "NOT_IMPLEMENTED.md").read_text())["APIs that are not advertised"]
    named = set(re.findall(r"`([A-Z]\w+)`", rows))
    apis = KAFKA_APIS | ONLY_WITH_A_PLUGIN
    served = {api.name for api in APIS.values()}
    assert served == {name for key, name in apis.items() if key in APIS}
    assert named == set(apis.values()) - served
