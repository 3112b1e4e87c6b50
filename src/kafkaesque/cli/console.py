"""`kafkaesque console`: the page in the browser, for any cluster.

NiceGUI is an extra and is loaded here only. Below: console/app.py.
"""

from typing import Annotated

import typer

from kafkaesque.cli.connecting import connection
from kafkaesque.cli.output import CommandError
from kafkaesque.cli.registry_options import (
    RegistryCa,
    RegistryPassword,
    RegistryToken,
    RegistryUrl,
    RegistryUser,
    registry_client,
)
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
    fanout: Annotated[
        str | None,
        typer.Option(
            envvar="KAFKAESQUE_CONSOLE_FANOUT",
            metavar="URL",
            help="Fan-out of this cluster, as in http://127.0.0.1:8083: filters are matched "
            "there, and it has a page.",
            show_default="(none)",
        ),
    ] = None,
    registry: RegistryUrl = None,
    registry_user: RegistryUser = None,
    registry_password: RegistryPassword = None,
    registry_token: RegistryToken = None,
    registry_ca: RegistryCa = None,
) -> None:
    """Show a cluster in the browser until Ctrl-C or SIGTERM.

    \b
    Examples:
      kafkaesque console
      kafkaesque console --brokers broker.example.org:9092 --port 8090
      kafkaesque console --fanout http://127.0.0.1:8083
      kafkaesque console --registry http://127.0.0.1:8081
    """
    if fanout is not None and not fanout.startswith(("http://", "https://")):
        raise typer.BadParameter(
            f"{fanout!r} is no URL: write it as in http://127.0.0.1:8083", param_hint="--fanout"
        )
    cluster = connection(context)
    client = registry_client(
        registry, registry_user, registry_password, registry_token, registry_ca
    )
    try:
        from kafkaesque.console.app import run
        from kafkaesque.console.schemas import Schemas
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

    if client is None:
        schemas = None
    else:
        from kafkaesque.cli.schema.verdicts import verdicts

        schemas = Schemas(client, verdicts)
    run(cluster, Address(host, port), ready, fanout, schemas)
