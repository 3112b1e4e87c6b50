"""A report as a table: for a terminal, and for Markdown. One line per row, its bars at the end.

Each variant but the reference has two columns: its median, or peak where that is what counts, and
the ratio to the reference's. In a terminal each line begins with its figure, and the last one
counts the bars; in Markdown each figure is a table of its own.
"""

from collections.abc import Iterable, Sequence

from benchmarks.bars import tally, verdicts
from benchmarks.report import Report, Row


def heads(report: Report) -> list[str]:
    columns = ["", "unit", report.reference]
    for variant in _others(report):
        columns += [variant, "ratio"]
    return [*columns, "bars"]


def cells(report: Report, row: Row) -> list[str]:
    columns = [row.name, row.unit, number(row.value(report.reference))]
    for variant in _others(report):
        columns += [number(row.value(variant)), number(row.ratio(variant, report.reference))]
    said = (f"{bar} {'ok' if held else 'MISSED'}" for bar, held in verdicts(row))
    return [*columns, "; ".join(said)]


def number(value: float | None) -> str:
    """Three digits that count; a dash for what was not measured."""
    if value is None:
        return "–"
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def as_text(report: Report) -> str:
    lines = [["figure", *heads(report)]]
    lines += ([row.figure, *cells(report, row)] for row in report.rows)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join((*(_aligned(line, widths) for line in lines), tally(report.rows)))


def as_markdown(report: Report, rows: Iterable[Row]) -> str:
    columns = heads(report)
    rule = ["---", "---", *["--:"] * (len(columns) - 3), "---"]
    lines = [columns, rule, *(cells(report, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    last = len(line) - 1
    padded = [
        cell.ljust(width) if column in (0, 1, 2, last) else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _others(report: Report) -> list[str]:
    return [variant for variant in report.variants if variant != report.reference]
