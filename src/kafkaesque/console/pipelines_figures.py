"""What a page of pipelines shows of what they say of themselves: rows, and the last minutes. Pure.

`History` keeps rate and latency of each query for some minutes, by the time that a status carries:
what was said before somebody looked is in the topic, and so in the lines. A run that is another one
begins anew. A pipeline that is `lost` has said nothing for too long; nobody can tell it anything.
Above: pipelines_poller.py, pages/pipelines.py. Below: client/pipelines.py.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkaesque.client.pipelines import (
    ALIVE,
    Command,
    PipelineStatus,
    QueryStatus,
    State,
    Verb,
)

BACK_MS = 5 * 60_000
MOST_POINTS = 150
OBEYS_WITHIN_MS = 30_000
"""A command that nobody has followed for so long may be given again."""

_OBEYED: Final[Mapping[Verb, tuple[State, ...]]] = {
    "stop": ("stopped", "finished", "failed"),
    "start": ("starting", "running", "restarting", "finished", "failed"),
}


class Point(NamedTuple):
    at_ms: int
    rate: float | None
    latency_ms: int | None


@dataclass(slots=True)
class History:
    _runs: dict[str, str] = field(default_factory=dict)
    _points: dict[tuple[str, str], deque[Point]] = field(default_factory=dict)

    def add(self, statuses: Iterable[PipelineStatus]) -> None:
        for status in statuses:
            if self._runs.get(status.name) != status.run:
                self._runs[status.name] = status.run
                self._forget(status.name)
            if status.state == "running":
                for query in status.queries:
                    self._add(status, query)

    def points(self, pipeline: str, query: str) -> list[Point]:
        return list(self._points.get((pipeline, query), ()))

    def _add(self, status: PipelineStatus, query: QueryStatus) -> None:
        points = self._points.setdefault((status.name, query.name), deque(maxlen=MOST_POINTS))
        points.append(Point(status.at_ms, query.rate_in, query.latency_ms))
        while points[-1].at_ms - points[0].at_ms > BACK_MS:
            points.popleft()

    def _forget(self, pipeline: str) -> None:
        for key in [key for key in self._points if key[0] == pipeline]:
            del self._points[key]


def rows(
    statuses: Iterable[PipelineStatus],
    commands: Mapping[str, Command],
    history: History,
    now_ms: int,
) -> list[dict[str, Any]]:
    """A row for each pipeline: those that are alive first, by name; then what ended last."""
    ordered = sorted(statuses, key=lambda each: _order(each, now_ms))
    return [_row(each, commands.get(each.name), history, now_ms) for each in ordered]


def _order(status: PipelineStatus, now_ms: int) -> tuple[bool, int, str]:
    is_over = state_of(status, now_ms) not in ALIVE
    return is_over, -status.at_ms if is_over else 0, status.name


def state_of(status: PipelineStatus, now_ms: int) -> str:
    return "lost" if status.is_lost(now_ms) else status.state


def pending(status: PipelineStatus, command: Command | None, now_ms: int) -> Verb | None:
    """What the run has been told and has not done yet."""
    if command is None or command.run != status.run or now_ms - command.at_ms > OBEYS_WITHIN_MS:
        return None
    return None if status.state in _OBEYED[command.verb] else command.verb


def verb_for(state: str) -> Verb | None:
    """What one can tell a pipeline in that state."""
    if state == "stopped":
        return "start"
    return "stop" if state in ALIVE else None


def _row(
    status: PipelineStatus, command: Command | None, history: History, now_ms: int
) -> dict[str, Any]:
    state = state_of(status, now_ms)
    is_alive = state in ALIVE
    return {
        "name": status.name,
        "run": status.run,
        "state": state,
        "verb": verb_for(state),
        "pending": pending(status, command, now_ms) if is_alive else None,
        "started": status.started_ms,
        "age": max(0, (now_ms if is_alive else status.at_ms) - status.started_ms),
        "silent": None if is_alive else max(0, now_ms - status.at_ms),
        "master": status.master,
        "restarts": status.restarts,
        "error": status.error,
        "queries": [_query_row(status, query, history, now_ms) for query in status.queries],
    }


def _query_row(
    status: PipelineStatus, query: QueryStatus, history: History, now_ms: int
) -> dict[str, Any]:
    points = history.points(status.name, query.name)
    # What it was when it stopped is no rate of now.
    is_running = status.state == "running"
    return {
        "name": query.name.removeprefix(f"{status.name}."),
        "source": query.source,
        "sink": query.sink,
        "batch": query.batch if query.batch >= 0 else None,
        "rows": query.rows_in,
        "rate_in": query.rate_in if is_running else None,
        "rate_processed": query.rate_processed if is_running else None,
        "latency": query.latency_ms,
        "watermark": query.watermark_ms,
        "watermark_behind": None if query.watermark_ms is None else now_ms - query.watermark_ms,
        "state_rows": query.state_rows,
        "state_bytes": query.state_bytes,
        "late": query.late_rows,
        "behind": query.behind,
        "rates": [round(point.rate or 0.0, 1) for point in points],
        "latencies": [point.latency_ms or 0 for point in points],
        "times": [point.at_ms for point in points],
    }
