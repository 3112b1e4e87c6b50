"""Asking at the terminal before something that cannot be taken back.

A command asks unless `--no-confirm` is given. Where nobody can answer, that has to say so.
Above: topic/trim.py, txn/abort.py. Below: output.py, stopping.py.
"""

import sys
from typing import Annotated, TypeAlias

import typer

from kafkaesque.cli.output import CommandError
from kafkaesque.cli.stopping import INTERRUPTED

NoConfirm: TypeAlias = Annotated[bool, typer.Option("--no-confirm", help="Do not ask.")]


def require_terminal(deed: str) -> None:
    if not sys.stdin.isatty():
        raise CommandError(
            f"{deed} needs a yes, and there is no terminal to ask at: give --no-confirm"
        )


def require_yes(question: str, otherwise: str) -> None:
    """Ends the command if the answer is no, with `otherwise` said, or if it is Ctrl-C."""
    try:
        if typer.confirm(question):
            return
    except typer.Abort:  # Ctrl-C.
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(otherwise, err=True)
    raise typer.Exit(1)
