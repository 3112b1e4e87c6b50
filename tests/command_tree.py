"""Every command that `kafkaesque` has, for tests that hold all of them to something."""

from collections.abc import Iterator
from typing import Any

import typer.main

from kafkaesque.cli.main import app


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A command and all below it, by their full names."""
    yield path, command
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from commands(subcommand, f"{path} {name}")


EVERYTHING = dict(commands(typer.main.get_command(app), "kafkaesque"))
"""Groups too."""

COMMANDS = {
    name: command
    for name, command in EVERYTHING.items()
    if not getattr(command, "commands", None) or name == "kafkaesque"
}
"""Those that do something, and the root."""
