"""`kafkaesque broker`: read the options into a BrokerConfig, and run it.

The broker's modules are imported inside the command, so that `--help` and the client commands do
not pay for them. A StartError goes up to main.py, which prints it. Below: broker/server.py.
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.options import (
    Listen,
    Pair,
    parse_address,
    parse_listen,
    parse_pair,
)
from kafkaesque.client.connection import DEFAULT_PORT, Address

if TYPE_CHECKING:
    from kafkaesque.broker.config import Listener

DEFAULT_DATA_DIR = Path("data")


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def broker(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(envvar="KAFKAESQUE_HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_PORT", min=0, max=65535, help="Port to listen on; 0 for a free one."
        ),
    ] = DEFAULT_PORT,
    advertise: Annotated[
        Address | None,
        typer.Option(
            envvar="KAFKAESQUE_ADVERTISE",
            parser=parse_address,
            metavar="HOST:PORT",
            help="Address that clients of --host and --port are told to use, if not that one.",
        ),
    ] = None,
    listen: Annotated[
        list[Listen] | None,
        typer.Option(
            parser=parse_listen,
            metavar="HOST:PORT[=HOST:PORT]",
            help="Listen here too, advertising what follows the =. Repeatable.",
        ),
    ] = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            envvar="KAFKAESQUE_DATA_DIR",
            show_default="./data",
            help="Directory of the logs; made if it is not there.",
        ),
    ] = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Keep everything in memory, and nothing on disk.")
    ] = False,
    settings: Annotated[
        list[Pair] | None,
        typer.Option(
            "--set", parser=parse_pair, metavar="NAME=VALUE", help="A broker setting. Repeatable."
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            envvar="KAFKAESQUE_METRICS_PORT",
            min=0,
            max=65535,
            show_default="off",
            help="Show metrics for Prometheus on this port of --host, at /metrics; 0 for a free "
            "one.",
        ),
    ] = None,
    log_level: Annotated[
        LogLevel,
        typer.Option(
            envvar="KAFKAESQUE_LOG_LEVEL", help="How much the broker's log on stderr says."
        ),
    ] = LogLevel.INFO,
) -> None:
    """Run a broker until Ctrl-C or SIGTERM.

    \b
    Examples:
      kafkaesque broker
      kafkaesque broker --port 19092 --data-dir /var/lib/kafkaesque
      kafkaesque broker --host 0.0.0.0 --advertise example.org:9092
      kafkaesque broker --memory --set auto.create.topics.enable=false
    """
    if memory and is_on_command_line(context, "data_dir"):
        raise typer.BadParameter("--memory keeps no files: give it or --data-dir, not both")
    from kafkaesque.broker.config import BrokerConfig
    from kafkaesque.broker.server import run

    config = BrokerConfig.of(
        listeners=_listeners(Listen(Address(host, port), advertise), listen or []),
        data_dir=None if memory else data_dir or DEFAULT_DATA_DIR,
        settings=dict(settings or []),
        metrics_port=metrics_port,
    )
    log_to_stderr(log_level)
    run(config)


def _listeners(first: Listen, more: list[Listen]) -> "tuple[Listener, ...]":
    from kafkaesque.broker.config import Listener

    return tuple(
        Listener(*listen.bind, *(listen.advertised or (None, None))) for listen in (first, *more)
    )


def is_on_command_line(context: typer.Context, parameter: str) -> bool:
    source = context.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def log_to_stderr(level: LogLevel) -> None:
    import logging

    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
