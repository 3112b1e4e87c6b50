"""The entry point: the list of commands, and how a failed one ends.

Exit codes: 0 done; 1 it could not be done, with the cause and the cure on stderr; 2 a wrong
command line. Plain help and no decorated tracebacks: loading rich for them would double the
start-up time of a broker.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from kafkaesque.cli import broker, topic
from kafkaesque.cli.output import CommandError
from kafkaesque.errors import StartError

app = typer.Typer(
    name="kafkaesque",
    epilog="Start with: kafkaesque broker, then kafkaesque topic create orders -p 3",
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


@app.callback()
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """An event-streaming platform that speaks Kafka's protocol."""


app.command()(broker.broker)
app.add_typer(topic.app)


def main(args: Sequence[str] | None = None) -> None:
    try:
        app(args)
    except (CommandError, StartError) as error:
        typer.echo(f"kafkaesque: {error}", err=True)
        raise SystemExit(1) from None
