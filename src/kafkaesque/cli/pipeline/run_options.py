"""The options of every `kafkaesque pipeline run …`, and how a pipeline is run with them.

Above: stocks.py, archive.py, upsert.py, file.py. Below: pipelines/runner.py and
preparing.py, imported on use.
"""

import sys
from contextlib import nullcontext
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kafkaesque.cli.connecting import connection
from kafkaesque.cli.options import parse_pair
from kafkaesque.cli.output import CommandError, tell
from kafkaesque.cli.registry_options import LOCAL, RegistryUrl
from kafkaesque.cli.stopping import StopRequest

if TYPE_CHECKING:
    from kafkaesque.client.pipelines import PipelineStatus
    from kafkaesque.pipelines.context import Start

CHECKPOINTS = Path("kafkaesque-pipelines")
MASTER = "local[*]"

Name: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="that of the pipeline",
        help="Its name, in status and console; two of a kind need two.",
    ),
]
Checkpoint: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        show_default=f"{CHECKPOINTS}/NAME",
        help="Where it keeps how far it is; a directory, or a URI on a cluster.",
    ),
]
Once: TypeAlias = Annotated[
    bool, typer.Option("--once", help="Take all there is, then stop; else go on until Ctrl-C.")
]
Interval: TypeAlias = Annotated[
    str, typer.Option(metavar="TIME", help="How often there is a batch, as in '10 seconds'.")
]
Master: TypeAlias = Annotated[
    str,
    typer.Option(
        envvar="KAFKAESQUE_SPARK_MASTER",
        metavar="URL",
        help="Where Spark runs: local[N], or spark://HOST:PORT of a cluster.",
    ),
]
Conf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark's; may be repeated."),
]


class Form(StrEnum):
    """How values are decoded."""

    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"


Stay: TypeAlias = Annotated[
    bool,
    typer.Option("--stay", help="When stopped from the console, wait there to be started again."),
]

__all__ = [
    "LOCAL",
    "Checkpoint",
    "Conf",
    "Form",
    "Interval",
    "Master",
    "Name",
    "Once",
    "RegistryUrl",
    "Stay",
    "require_spark",
    "run_pipeline",
]


def require_spark() -> None:
    """Say what is not installed before anything else is done."""
    if find_spec("pyspark") is None:
        raise CommandError(
            "pipelines need pyspark, which is not installed: pip install 'kafkaesque-broker[spark]'"
        )


def run_pipeline(
    context: typer.Context,
    start: "Start",
    *,
    name: str,
    registry: str | None,
    checkpoint: str | None,
    once: bool,
    interval: str,
    master: str,
    conf: list[str] | None,
    stay: bool,
) -> None:
    """Until it has ended, or is told to by Ctrl-C, SIGTERM or `pipeline stop`."""
    from kafkaesque.client.board import Board
    from kafkaesque.pipelines.preparing import Preparing
    from kafkaesque.pipelines.runner import Job, Runner

    asked = StopRequest().listen()
    cluster = connection(context)
    job = Job(
        name=name,
        start=start,
        connection=cluster,
        checkpoints=checkpoint or str((CHECKPOINTS / name).absolute()),
        registry=registry,
        once=once,
        interval=interval,
        master=master,
        conf=dict(parse_pair(each) for each in conf or ()),
        stays=stay,
    )
    line = _Line()
    board = Board(cluster)
    runner = Runner(job, board, is_asked_to_end=lambda: asked.asked, tell=line.tell, show=line.show)
    typer.echo(f"kafkaesque pipeline {name} runs on {master}; stop with Ctrl-C")
    try:
        with nullcontext() if once else Preparing(master):
            runner.run()
    finally:
        board.close()
        line.end()


class _Line:
    """One line that is written over, on stderr if that is a terminal; a summary at the end."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._last: PipelineStatus | None = None

    def tell(self, sentence: str) -> None:
        self._erase()
        tell(sentence)

    def show(self, status: "PipelineStatus") -> None:
        self._last = status
        if self._is_shown:
            self._erase()
            typer.echo(summary(status), err=True, nl=False)

    def end(self) -> None:
        self._erase()
        if self._last is not None and self._last.state != "failed":
            for query in self._last.queries:
                late = f", {query.late_rows:,} late" if query.late_rows else ""
                typer.echo(f"{query.name}: {query.rows_in:,} rows in{late}")

    def _erase(self) -> None:
        if self._is_shown:
            typer.echo("\r\x1b[K", err=True, nl=False)


def summary(status: "PipelineStatus") -> str:
    """A line for a terminal: what it is doing, how fast, how far behind."""
    if status.state != "running" or not status.queries:
        return f"{status.name}: {status.state}"
    rows = sum(query.rows_in for query in status.queries)
    rate = sum(query.rate_in or 0.0 for query in status.queries)
    behind = sum(query.behind or 0 for query in status.queries)
    slowest = max((query.latency_ms or 0 for query in status.queries), default=0)
    return (
        f"{status.name}: {rows:,} rows in, {rate:,.0f}/s, {slowest / 1000:.1f} s a batch, "
        f"{behind:,} behind"
    )
