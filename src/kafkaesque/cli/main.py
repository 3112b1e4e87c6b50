"""The entry point: the list of commands, and how a failed one ends.

Exit codes: 0 done; 1 it could not be done, with the cause and the cure on stderr; 2 a wrong
command line. Plain help and no decorated tracebacks: loading rich for them would double the
start-up time of a broker.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kafkaesque.cli.broker import broker
from kafkaesque.cli.cluster.app import app as cluster
from kafkaesque.cli.connecting import ClusterCommand
from kafkaesque.cli.console import console
from kafkaesque.cli.demo import app as demo
from kafkaesque.cli.fanout import fanout
from kafkaesque.cli.gateway import gateway
from kafkaesque.cli.group.app import app as group
from kafkaesque.cli.lake.app import app as lake
from kafkaesque.cli.listen import listen
from kafkaesque.cli.output import CommandError, tell
from kafkaesque.cli.pipeline.app import app as pipeline
from kafkaesque.cli.registry import registry
from kafkaesque.cli.run import run
from kafkaesque.cli.schema.app import app as schema
from kafkaesque.cli.settings_file import DEFAULT_FILE, defaults, read_settings
from kafkaesque.cli.topic.app import app as topic
from kafkaesque.cli.txn.app import app as txn
from kafkaesque.cli.up.command import up
from kafkaesque.client.connection import ClusterError
from kafkaesque.errors import StartError

app = typer.Typer(
    name="kafkaesque",
    epilog="Start with: kafkaesque up, then, in another terminal, kafkaesque topic list",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def version() -> None:
    """Print the version.

    Example: kafkaesque version
    """
    import kafkaesque

    typer.echo(kafkaesque.__version__)


def _print_version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


def _take_settings(context: typer.Context, path: Path | None) -> Path | None:
    if path is None and not DEFAULT_FILE.is_file():
        return None
    try:
        settings = read_settings(path or DEFAULT_FILE)
        context.default_map = defaults(context.command, settings, path or DEFAULT_FILE)
    except CommandError:
        if not context.resilient_parsing:  # A completion says nothing.
            raise
    return path


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    _config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            envvar="KAFKAESQUE_CONFIG",
            callback=_take_settings,
            is_eager=True,
            metavar="FILE",
            show_default="kafkaesque.toml, if it is there",
            help="File of defaults for options.",
        ),
    ] = None,
) -> None:
    """An event-streaming platform that speaks Kafka's protocol."""


app.command()(broker)
app.command()(up)
app.command(cls=ClusterCommand)(console)
app.command(cls=ClusterCommand)(gateway)
app.command(cls=ClusterCommand)(registry)
app.command(cls=ClusterCommand)(run)
app.command(cls=ClusterCommand)(fanout)
app.command()(listen)
app.add_typer(topic)
app.add_typer(group)
app.add_typer(txn)
app.add_typer(schema)
app.add_typer(cluster)
app.add_typer(demo)
app.add_typer(pipeline)
app.add_typer(lake)


def main(args: Sequence[str] | None = None) -> None:
    try:
        app(args)
    except (ClusterError, CommandError, StartError) as error:
        tell(str(error))
        raise SystemExit(1) from None
