"""`kafkaesque pipeline status`, `stop` and `start`: pipelines seen and told over __pipelines.

They need no Spark, and work from anywhere that the cluster can be reached.
Above: app.py. Below: client/board.py, imported on use.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkaesque.cli.connecting import connection
from kafkaesque.cli.output import CommandError, Format, OutputFormat, echo_data, echo_table, tell
from kafkaesque.client.pipelines import ALIVE, PipelineStatus

if TYPE_CHECKING:
    from kafkaesque.client.board import Board

_POLL_S = 0.2

PipelineName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the pipeline.")]
Patience = Annotated[
    float, typer.Option("--wait", min=0.0, metavar="SECONDS", help="How long to wait until it has.")
]


def status(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", show_default="all", help="Name of the pipeline."),
    ] = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Say how pipelines fare: rates, latency, watermark, state, lag.

    \b
    Examples:
      kafkaesque pipeline status
      kafkaesque pipeline status stocks --format json
    """
    with _board(context) as board:
        statuses = sorted(board.statuses.values(), key=lambda each: each.name)
    if name is not None:
        statuses = [each for each in statuses if each.name == name]
        if not statuses:
            raise CommandError(f"no pipeline {name} has been run here: see `pipeline status`")
    now_ms = time.time_ns() // 1_000_000
    if output is Format.TABLE:
        _print(statuses, now_ms)
    else:
        echo_data([_told(each, now_ms) for each in statuses], output)


def stop(context: typer.Context, name: PipelineName, wait: Patience = 60.0) -> None:
    """Stop a pipeline, wherever it runs, when its batch is done.

    \b
    Examples:
      kafkaesque pipeline stop stocks
      kafkaesque pipeline stop stocks --wait 0
    """
    with _board(context) as board:
        found = _alive(board, name)
        if found.state == "stopped":
            tell(f"{name} is stopped already")
            return
        board.command("stop", found)
        _wait(board, name, wait, lambda each: each.state in ("stopped", "finished", "failed"))
    typer.echo(f"{name} is stopped")


def start(context: typer.Context, name: PipelineName, wait: Patience = 60.0) -> None:
    """Start a pipeline again that was stopped, and whose process waits (`run --stay`).

    \b
    Example:
      kafkaesque pipeline start stocks
    """
    with _board(context) as board:
        found = _alive(board, name)
        if found.state != "stopped":
            tell(f"{name} is {found.state} already")
            return
        board.command("start", found)
        _wait(board, name, wait, lambda each: each.state in ("running", "finished", "failed"))
    typer.echo(f"{name} is started")


@contextmanager
def _board(context: typer.Context) -> "Iterator[Board]":
    from kafkaesque.client.board import Board

    board = Board(connection(context))
    try:
        board.catch_up()
        yield board
    finally:
        board.close()


def _alive(board: "Board", name: str) -> PipelineStatus:
    """The status of a run that can be told something."""
    found = board.statuses.get(name)
    if found is None:
        raise CommandError(f"no pipeline {name} has been run here: see `pipeline status`")
    if found.state not in ALIVE:
        raise CommandError(f"{name} does not run: it has {found.state}")
    if found.is_lost(time.time_ns() // 1_000_000):
        raise CommandError(
            f"{name} has said nothing since {_moment(found.at_ms)}: its process is gone, or cannot "
            "reach the cluster; nobody is there to hear"
        )
    return found


def _wait(
    board: "Board", name: str, wait_s: float, is_done: Callable[[PipelineStatus], bool]
) -> None:
    deadline_s = time.monotonic() + wait_s
    while not is_done(board.statuses[name]):
        if wait_s and time.monotonic() > deadline_s:
            raise CommandError(
                f"{name} has been told, and is {board.statuses[name].state} still after "
                f"{wait_s:g} s: see `pipeline status {name}`"
            )
        if not wait_s:
            return
        board.poll(_POLL_S)


def _print(statuses: list[PipelineStatus], now_ms: int) -> None:
    rows: list[tuple[Any, ...]] = []
    for each in statuses:
        state = _state(each, now_ms)
        rows.append((each.name, "", state, _moment(each.at_ms), each.restarts, *[""] * 6))
        for query in each.queries:
            latency = None if query.latency_ms is None else f"{query.latency_ms} ms"
            mark = None if query.watermark_ms is None else _moment(query.watermark_ms)
            rates = (_rate(query.rate_in), _rate(query.rate_processed))
            rest = (latency, mark, query.state_rows, query.late_rows)
            rows.append(("", query.name, "", "", "", *rates, *rest, query.behind))
    heads = ("PIPELINE", "QUERY", "STATE", "SAID", "RESTARTS", "IN/S", "DONE/S")
    echo_table((*heads, "LATENCY", "WATERMARK", "STATE ROWS", "LATE", "BEHIND"), rows)
    for each in statuses:
        if each.error:
            tell(f"{each.name}: {each.error}")


def _state(status: PipelineStatus, now_ms: int) -> str:
    return "lost" if status.is_lost(now_ms) else status.state


def _told(status: PipelineStatus, now_ms: int) -> dict[str, Any]:
    return {
        **asdict(status),
        "state": _state(status, now_ms),
        "queries": [*map(asdict, status.queries)],
    }


def _rate(rate: float | None) -> str | None:
    return None if rate is None else f"{rate:,.1f}"


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
