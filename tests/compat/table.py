"""The compatibility table as it fills: client × cell, from test reports to lines of text.

A cell is passed only if every phase of its test (set-up, call, tear-down) passed. Above:
conftest.py.
"""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Table:
    """Rows and columns appear in the order in which they were first noted."""

    _rows: dict[str, dict[str, bool]] = field(default_factory=dict)
    _columns: dict[str, None] = field(default_factory=dict)

    def note(self, row: str, column: str, *, passed: bool) -> None:
        cells = self._rows.setdefault(row, {})
        cells[column] = cells.get(column, True) and passed
        self._columns.setdefault(column)

    def lines(self) -> list[str]:
        if not self._rows:
            return []
        widths = {column: max(len(column), 4) for column in self._columns}
        first = max(len(row) for row in self._rows)
        header = "  ".join(column.ljust(width) for column, width in widths.items())
        lines = [f"{'client'.ljust(first)}  {header}".rstrip()]
        for row, cells in self._rows.items():
            marks = [_mark(cells.get(column)).ljust(widths[column]) for column in widths]
            lines.append(f"{row.ljust(first)}  {'  '.join(marks)}".rstrip())
        return lines


def _mark(passed: bool | None) -> str:
    return {True: "ok", False: "FAIL", None: "-"}[passed]
