"""How commands over several things say how it went for each: a table of statuses, or a complaint on
stderr for each that failed. Either ends the command with exit code 1 if one did.

Above: topic/, group/, txn/, cluster/. Below: output.py.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from kafkaesque.cli.output import Format, echo_data, echo_table, tell

if TYPE_CHECKING:
    from kafkaesque.client.answers import Status
    from kafkaesque.client.groups import Group


def report(noun: str, statuses: "Sequence[Status]", form: Format) -> None:
    """Print one line per status; `noun` is the head of their names."""
    if form is Format.TABLE:
        echo_table((noun.upper(), "STATUS"), [(status.name, status) for status in statuses])
    else:
        told = [{noun: s.name, "error": s.error, "status": str(s)} for s in statuses]
        echo_data(told, form)
    if any(status.error for status in statuses):
        raise typer.Exit(1)


def complain_of_groups(groups: "Iterable[Group]") -> None:
    complain(f"group {group.name}: {group.error}" for group in groups if group.error)


def complain(failures: Iterable[str]) -> None:
    lines = list(failures)
    for line in lines:
        tell(line)
    if lines:
        raise typer.Exit(1)
