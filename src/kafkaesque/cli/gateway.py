"""`kafkaesque gateway`: events over HTTP, for any cluster.

FastAPI is an extra and is loaded here only. Below: gateway/events/server.py.
"""

from pathlib import Path
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
    registry_address,
    require_registry_library,
)
from kafkaesque.client.connection import Address

DEFAULT_PORT = 8082


def gateway(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(envvar="KAFKAESQUE_GATEWAY_HOST", help="Address to serve on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_GATEWAY_PORT",
            min=0,
            max=65535,
            help="Port to serve on; 0 for a free one.",
        ),
    ] = DEFAULT_PORT,
    max_streams: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_GATEWAY_MAX_STREAMS",
            min=1,
            help="Streams that may be open at a time.",
        ),
    ] = 1000,
    max_body_bytes: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_GATEWAY_MAX_BODY_BYTES",
            min=1024,
            help="Largest body, or line of NDJSON.",
        ),
    ] = 16 << 20,
    keep_alive: Annotated[
        float,
        typer.Option(
            envvar="KAFKAESQUE_GATEWAY_KEEP_ALIVE",
            min=0.1,
            metavar="SECONDS",
            help="How often a quiet stream says that it is alive.",
        ),
    ] = 15.0,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Web pages that may connect, as in https://*.example.org; else those of the "
            "same host. Repeatable.",
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(
            envvar="KAFKAESQUE_GATEWAY_TOKENS",
            metavar="FILE",
            help="Who may read and write what; else everybody may do everything.",
        ),
    ] = None,
    registry: RegistryUrl = None,
    registry_user: RegistryUser = None,
    registry_password: RegistryPassword = None,
    registry_token: RegistryToken = None,
    registry_ca: RegistryCa = None,
) -> None:
    """Serve events over HTTP until Ctrl-C or SIGTERM: write, stream, page, look.

    \b
    Examples:
      kafkaesque gateway
      kafkaesque gateway --brokers broker.example.org:9092 --port 8000
      kafkaesque gateway --registry http://127.0.0.1:8081
      curl -d hello -H 'content-type: text/plain' localhost:8082/topics/greetings/events
      curl -N -H 'accept: text/event-stream' localhost:8082/topics/greetings/events
    """
    cluster = connection(context)
    schemas = registry_address(
        registry, registry_user, registry_password, registry_token, registry_ca
    )
    require_registry_library(schemas)
    try:
        from kafkaesque.gateway.events.config import EventsConfig
        from kafkaesque.gateway.events.server import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kafkaesque"):
            raise
        raise CommandError(
            f"the gateway needs {error.name}, which is not installed: "
            "pip install 'kafkaesque-broker[web]'"
        ) from None

    def ready(address: Address) -> None:
        typer.echo(
            f"kafkaesque gateway on http://{address} (brokers {cluster.bootstrap_servers}); "
            "stop with Ctrl-C"
        )

    config = EventsConfig(
        cluster,
        Address(host, port),
        registry=schemas,
        tokens=tokens,
        origins=tuple(origin or ()),
        max_streams=max_streams,
        max_body_bytes=max_body_bytes,
        keep_alive_s=keep_alive,
    )
    run(config, ready)
