"""What commands write: aligned tables for people, JSON for programs.

Tables are plain text, as rpk's are: no colours or borders, never cut to the terminal's width, so
that grep and awk see what a person sees.
"""

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum

import typer


class CommandError(Exception):
    """A command that could not do its work; the message names the cause and the cure."""


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


def echo_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def echo_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    echo_columns([heads, *rows])


def echo_section(title: str) -> None:
    typer.echo(f"{title}\n{'=' * len(title)}")


def echo_columns(rows: Iterable[Sequence[object]]) -> None:
    lines = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(padded).rstrip())
