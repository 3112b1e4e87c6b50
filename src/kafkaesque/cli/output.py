"""What commands write: tables for people, JSON and YAML for programs.

Tables are plain text, as rpk's are: no colours or borders, never cut to the terminal's width, so
that grep and awk see what a person sees. `echo_table` is the look of today's rpk, `echo_grid` the
older one: two spaces before the line, and every cell padded, the last one too.
"""

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import Annotated, TypeAlias

import typer


class CommandError(Exception):
    """A command that could not do its work; the message names the cause and the cure."""


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputFormat: TypeAlias = Annotated[
    Format, typer.Option("--format", envvar="KAFKAESQUE_FORMAT", help="What to print.")
]
Row: TypeAlias = Sequence[object]


def echo_data(value: object, form: Format) -> None:
    """Print lists and dicts of plain values as JSON or YAML."""
    if form is Format.YAML:
        import yaml

        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
        typer.echo(text, nl=False)
    else:
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def tell(sentence: str) -> None:
    """A word to the person at the terminal, beside what the command prints."""
    typer.echo(f"kafkaesque: {sentence}", err=True)


def echo_section(title: str) -> None:
    typer.echo(f"{title}\n{'=' * len(title)}")


def echo_table(heads: Sequence[str], rows: Iterable[Row]) -> None:
    echo_columns([heads, *rows])


def echo_columns(rows: Iterable[Row]) -> None:
    lines = _texts(rows)
    widths = _widths(lines)
    for line in lines:
        typer.echo("  ".join(_padded(line, widths)).rstrip())


def echo_grid(*tables: Iterable[Row]) -> None:
    """Tables below each other. A column is never narrower than in the table above."""
    widths: list[int] = []
    for table in tables:
        lines = _texts(table)
        pairs = zip_longest(widths, _widths(lines), fillvalue=0)
        widths = [max(pair) for pair in pairs]
        for line in lines:
            typer.echo("".join(["  ", *(f"{cell}  " for cell in _padded(line, widths))]))


def _texts(rows: Iterable[Row]) -> list[list[str]]:
    return [["-" if cell is None else str(cell) for cell in row] for row in rows]


def _widths(lines: list[list[str]]) -> list[int]:
    """A line may end before the last column."""
    return [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]


def _padded(line: list[str], widths: list[int]) -> list[str]:
    return [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
