"""`kafkaesque registry`: a schema registry for any cluster, with Confluent's REST API.

Starlette is an extra and is loaded here only. Below: registry/server.py.
"""

from typing import Annotated

import typer

import kafkaesque
from kafkaesque.cli.connecting import connection
from kafkaesque.cli.output import CommandError, tell
from kafkaesque.client.connection import Address

DEFAULT_PORT = 8081


def registry(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(envvar="KAFKAESQUE_REGISTRY_HOST", help="Address to serve on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            envvar="KAFKAESQUE_REGISTRY_PORT",
            min=0,
            max=65535,
            help="Port to serve on; 0 for a free one.",
        ),
    ] = DEFAULT_PORT,
    topic: Annotated[
        str,
        typer.Option(
            envvar="KAFKAESQUE_REGISTRY_TOPIC",
            help="Compacted topic that holds the schemas. It is made if it is not there.",
        ),
    ] = "_schemas",
) -> None:
    """Serve schemas until Ctrl-C or SIGTERM: register, look up, check.

    Several registries may serve one topic: they agree, and each can be written to.

    \b
    Examples:
      kafkaesque registry
      kafkaesque registry --brokers broker.example.org:9092 --port 8000
      curl localhost:8081/subjects
    """
    cluster = connection(context)
    try:
        from kafkaesque.registry.server import run
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kafkaesque"):
            raise
        raise CommandError(
            f"the registry needs {error.name}, which is not installed: "
            "pip install 'kafkaesque-broker[web]'"
        ) from None

    def ready(address: Address) -> None:
        typer.echo(
            f"kafkaesque registry on http://{address} (brokers {cluster.bootstrap_servers}, "
            f"topic {topic}); stop with Ctrl-C"
        )

    run(cluster, Address(host, port), topic, kafkaesque.__version__, tell, ready)
