"""How far a pipeline is, for whoever looks at the terminal, and a summary when it has ended.

    prices [##############------]  70%  350,000 rows, 41,200/s, 150,000 behind, 4 s left, …

Above: run_options.py. Below: status_line.py.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import typer

from kafkaesque.cli.output import tell
from kafkaesque.cli.status_line import StatusLine

if TYPE_CHECKING:
    from kafkaesque.client.pipelines import PipelineStatus, QueryStatus

BAR: Final = 20


class Progress:
    """What a Runner is given to say and to show."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._last: PipelineStatus | None = None

    def tell(self, sentence: str) -> None:
        self._line.clear()
        tell(sentence)

    def show(self, status: "PipelineStatus") -> None:
        self._last = status
        self._line.show(summary(status))

    def end(self) -> None:
        self._line.clear()
        if self._last is not None and self._last.state != "failed":
            for query in self._last.queries:
                late = f", {query.late_rows:,} late" if query.late_rows else ""
                typer.echo(f"{query.name}: {query.rows_in:,} rows in{late}")


def summary(status: "PipelineStatus") -> str:
    """What it is doing, how far it is, how fast: what matters most first, as a line may be cut."""
    if status.state != "running" or not status.queries:
        return f"{status.name}: {status.state}"
    if all(query.batch < 0 for query in status.queries):
        return f"{status.name}: running, no batch is done yet"
    rows = sum(query.rows_in for query in status.queries)
    rate = sum(_rate(query) for query in status.queries)
    slowest = max(query.latency_ms or 0 for query in status.queries)
    figures = [
        f"{rows:,} rows",
        f"{rate:,.0f}/s",
        *_left(status),
        f"{slowest / 1000:.1f} s a batch",
    ]
    return f"{status.name} {_bar(status, rows)}{', '.join(figures)}"


def _bar(status: "PipelineStatus", rows: int) -> str:
    """Full when nothing is left; none if sources do not say what there is."""
    known = [query.behind for query in status.queries if query.behind is not None]
    if not known:
        return ""
    share = rows / (rows + behind) if (behind := sum(known)) else 1.0
    done = int(share * BAR)
    return f"[{'#' * done}{'-' * (BAR - done)}] {int(share * 100):3d}%  "


def _left(status: "PipelineStatus") -> Iterator[str]:
    """How much, and how long that takes if all goes on as in the last batch."""
    if not (behind := sum(query.behind or 0 for query in status.queries)):
        return
    yield f"{behind:,} behind"
    times = [
        query.behind / rate for query in status.queries if query.behind and (rate := _rate(query))
    ]
    if times:
        seconds = max(times)
        yield f"{seconds:.0f} s left" if seconds < 100 else f"{seconds / 60:.0f} min left"


def _rate(query: "QueryStatus") -> float:
    """Of a first batch it is not known when its rows began to come: then, how fast it did them."""
    return query.rate_in or (query.behind and query.rate_processed) or 0.0
