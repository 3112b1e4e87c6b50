"""The reference documents what there is: every command, option and environment variable."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from scripts.write_reference import PAGES, REFERENCE

from kafkaesque.cli.main import app

CLI = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, and the root, by its full name."""
    subcommands = getattr(command, "commands", {})
    if not subcommands or path == "kafkaesque":
        yield path, command
    for name, subcommand in subcommands.items():
        yield from commands(subcommand, f"{path} {name}")


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## `(.+)`$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = sections(CLI.read_text())
COMMANDS = dict(commands(typer.main.get_command(app), "kafkaesque"))


def test_the_reference_has_a_section_for_each_command_and_for_nothing_else() -> None:
    assert set(SECTIONS) == set(COMMANDS)
    assert {"kafkaesque broker", "kafkaesque topic create"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_is_in_its_commands_section(name: str) -> None:
    missing = [
        spelling for spelling in _spellings(COMMANDS[name]) if spelling not in SECTIONS[name]
    ]
    assert missing == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_section_mentions_no_option_that_is_not_there(name: str) -> None:
    mentioned = re.findall(r"^\| (`-.+?`)(?: [A-Z\[]|\s*\|)", SECTIONS[name], flags=re.MULTILINE)
    spelled = {spelling for cell in mentioned for spelling in re.findall(r"`-[^`]+`", cell)}
    assert spelled - {"`-h`", "`--help`"} <= set(_spellings(COMMANDS[name]))


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_made_from_the_tables_are_up_to_date(name: str) -> None:
    written = (REFERENCE / name).read_text()
    assert written == PAGES[name](), "run `python scripts/write_reference.py`"


def _spellings(command: Any) -> list[str]:
    """The options and variables of a command, as the reference quotes them."""
    options = [param for param in command.params if param.param_type_name == "option"]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    variables = [option.envvar for option in options if option.envvar]
    return [f"`{spelling}`" for spelling in (*names, *variables)]
