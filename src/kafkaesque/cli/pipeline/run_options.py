"""The options of every `kafkaesque pipeline run …`, and how a pipeline is run with them.

A command is given them by `cls=RunCommand`, beside those of a cluster (cli/connecting.py), and runs
its pipeline with `run_pipeline(context, …)`. Above: run.py, stocks.py, archive.py, upsert.py,
file.py. Below: progress.py; pipelines/runner.py and preparing.py, imported on use.
"""

from contextlib import nullcontext
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer
from typer.core import TyperOption

from kafkaesque.cli.connecting import ClusterCommand, connection
from kafkaesque.cli.options import parse_pair
from kafkaesque.cli.output import CommandError
from kafkaesque.cli.pipeline.progress import Progress
from kafkaesque.cli.registry_options import RegistryUrl
from kafkaesque.cli.stopping import StopRequest

if TYPE_CHECKING:
    from kafkaesque.pipelines.context import Start

CHECKPOINTS = Path("kafkaesque-pipelines")
MASTER = "local[*]"

_META = "kafkaesque.run"


class RunCommand(ClusterCommand):
    """A command that runs a pipeline; `interval` is how often, unless --interval is given."""

    interval = "1 second"

    def __init__(self, *args: Any, params: list[Any] | None = None, **kwargs: Any) -> None:
        # Help lists a command's own options first, then these, then those of the cluster.
        super().__init__(*args, params=[*(params or ()), *_options(self.interval)], **kwargs)


class Form(StrEnum):
    """How values are decoded."""

    JSON = "json"
    AVRO = "avro"
    PROTOBUF = "protobuf"


def require_spark() -> None:
    """Say what is not installed before anything else is done."""
    if find_spec("pyspark") is None:
        raise CommandError(
            "pipelines need pyspark, which is not installed: pip install 'kafkaesque-broker[spark]'"
        )


def given_name(context: typer.Context) -> str | None:
    """What --name says."""
    name: str | None = context.meta[_META]["name"]
    return name


def run_pipeline(context: typer.Context, start: "Start", name: str) -> None:
    """Until it has ended, or is told to by Ctrl-C, SIGTERM or `pipeline stop`."""
    from kafkaesque.client.board import Board
    from kafkaesque.pipelines.preparing import Preparing
    from kafkaesque.pipelines.runner import Job, Runner

    asked = StopRequest().listen()
    cluster = connection(context)
    given = context.meta[_META]
    job = Job(
        name=name,
        start=start,
        connection=cluster,
        checkpoints=given["checkpoint"] or str((CHECKPOINTS / name).absolute()),
        registry=given["registry"],
        once=given["once"],
        interval=given["interval"],
        master=given["master"],
        conf=dict(parse_pair(each, "spark.driver.memory=2g") for each in given["conf"] or ()),
        stays=given["stay"],
    )
    progress = Progress()
    board = Board(cluster)
    runner = Runner(
        job, board, is_asked_to_end=lambda: asked.asked, tell=progress.tell, show=progress.show
    )
    typer.echo(f"kafkaesque pipeline {name} runs on {job.master}; stop with Ctrl-C")
    try:
        with nullcontext() if job.once else Preparing(job.master):
            runner.run()
    finally:
        board.close()
        progress.end()


def _remember(context: typer.Context, parameter: Any, value: Any) -> Any:
    context.meta.setdefault(_META, {})[parameter.name] = value
    return value


def _options(interval: str) -> list[TyperOption]:
    # Made anew for each command: an option belongs to one.
    _, registry = get_args(RegistryUrl)
    return [
        _option(
            "--name",
            None,
            "Its name, in status and console; two of a kind need two.",
            metavar="NAME",
            show_default="that of the pipeline",
        ),
        _option(
            "--registry",
            None,
            registry.help,
            envvar=registry.envvar,
            metavar=registry.metavar,
            show_default=registry.show_default,
        ),
        _option(
            "--checkpoint",
            None,
            "Where it keeps how far it is; a directory, or a URI on a cluster.",
            metavar="DIR",
            show_default=f"{CHECKPOINTS}/NAME",
        ),
        _option(
            "--once", False, "Take all there is, then stop; else go on until Ctrl-C.", is_flag=True
        ),
        _option(
            "--interval",
            interval,
            "How often there is a batch, as in '10 seconds'.",
            metavar="TIME",
        ),
        _option(
            "--master",
            MASTER,
            "Where Spark runs: local[N], or spark://HOST:PORT of a cluster.",
            envvar="KAFKAESQUE_SPARK_MASTER",
            metavar="URL",
        ),
        _option(
            "--conf",
            None,
            "A setting of Spark's; may be repeated.",
            metavar="NAME=VALUE",
            multiple=True,
        ),
        _option(
            "--stay",
            False,
            "When stopped from the console, wait there to be started again.",
            is_flag=True,
        ),
    ]


def _option(
    name: str, default: Any, text: str, show_default: bool | str = True, **more: Any
) -> TyperOption:
    return TyperOption(
        param_decls=[name],
        type=bool if default is False else str,
        default=default,
        help=text,
        expose_value=False,
        callback=_remember,
        show_default=show_default,
        show_envvar=True,
        **more,
    )
