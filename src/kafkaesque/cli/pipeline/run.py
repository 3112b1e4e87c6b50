"""`kafkaesque pipeline run …`: those that are built in, each with options of its own, and files.

A word that is none of them is taken for a file: `run orders.py` is `run file orders.py`.
Above: app.py. Below: file.py and one file for each that is built in.
"""

from typing import Any

import typer

from kafkaesque.cli.connecting import ClusterGroup
from kafkaesque.cli.pipeline.archive import ArchiveCommand, archive
from kafkaesque.cli.pipeline.file import file
from kafkaesque.cli.pipeline.run_options import RunCommand
from kafkaesque.cli.pipeline.stocks import stocks
from kafkaesque.cli.pipeline.upsert import upsert


class _Runs(ClusterGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args and args[0].endswith(".py"):
            args = ["file", *args]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="run",
    cls=_Runs,
    help="Run a pipeline until Ctrl-C: one that is built in, or a file.",
    epilog="Example: kafkaesque pipeline run stocks",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command(cls=RunCommand)(stocks)
app.command(cls=ArchiveCommand)(archive)
app.command(cls=RunCommand)(upsert)
app.command(cls=RunCommand)(file)
