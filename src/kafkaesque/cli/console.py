"""`kafkaesque console`: the page in the browser, for any cluster.

NiceGUI is an extra and is loaded here only. Below: console/app.py.
"""

from typing import Annotated

import typer

from kafkaesque.cli.connecting import connection
from kafkaesque.cli.output import CommandError
from kafkaesque.client.connection import Address

DEFAULT_PORT = 8080


def console(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(envvar="KAFKAESQUE_CONSOLE_HOST", help="Address to serve the page on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_CONSOLE_PORT",
            min=0,
            max=65535,
            help="Port to serve the page on; 0 for a free one.",
        ),
    ] = DEFAULT_PORT,
) -> None:
    """Show a cluster in the browser until Ctrl-C or SIGTERM.

    \b
    Examples:
      kafkaesque console
      kafkaesque console --brokers broker.example.org:9092 --port 8081
    """
    cluster = connection(context)
    try:
        from kafkaesque.console.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kafkaesque"):
            raise
        raise CommandError(
            f"the console needs {error.name}, which is not installed: "
            "pip install 'kafkaesque-broker[web]'"
        ) from None

    def ready(address: Address) -> None:
        typer.echo(
            f"kafkaesque console on http://{address} (brokers {cluster.bootstrap_servers}); "
            "stop with Ctrl-C"
        )

    run(cluster, Address(host, port), ready)
