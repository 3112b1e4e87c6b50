"""Subjects on the command line: their completion by asking the registry, and versions of them.

Completion never complains and keeps nobody waiting, as in cli/completion.py.
Above: the commands. Below: connecting.py.
"""

from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import typer

from kafkaesque.cli.schema.connecting import connect

PATIENCE_S = 1.0
LATEST: Final = "latest"

Version: TypeAlias = int | Literal["latest"]


def complete_subjects(context: typer.Context, incomplete: str) -> list[str]:
    from kafkaesque.cli.output import CommandError

    try:
        from kafkaesque.client.registry import RegistryError

        with connect(context, PATIENCE_S) as registry:
            names = registry.subjects()
    except (CommandError, ModuleNotFoundError, RegistryError, typer.BadParameter):
        return []
    return [name for name in names if name.startswith(incomplete)]


SubjectName: TypeAlias = Annotated[
    str, typer.Argument(metavar="SUBJECT", show_default=False, autocompletion=complete_subjects)
]
MaybeSubject: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        metavar="[SUBJECT]",
        show_default=False,
        autocompletion=complete_subjects,
    ),
]


class Place(NamedTuple):
    subject: str
    version: Version


def parse_place(text: str) -> Place:
    """SUBJECT or SUBJECT:VERSION. A subject may have colons in its name, `:.context:subject`."""
    subject, colon, version = text.rpartition(":")
    if colon and subject and (version == LATEST or _is_number(version)):
        return Place(subject, parse_version(version))
    return Place(text, LATEST)


def parse_version(text: str) -> Version:
    if text == LATEST:
        return LATEST
    if not _is_number(text) or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is no version: write a number from 1 on, or latest")
    return int(text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
