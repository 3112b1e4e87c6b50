"""`kafkaesque cluster …`: what a cluster is made of, whether it is well, how far groups are behind.

The layout of `info` is rpk's. Below: health.py, offsets.py; client/cluster.py, imported on use
because it loads librdkafka.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kafkaesque.cli.cluster.health import health
from kafkaesque.cli.cluster.offsets import offsets
from kafkaesque.cli.connecting import ClusterCommand, cluster_commands, connect
from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_section, echo_table

if TYPE_CHECKING:
    from kafkaesque.client.cluster import Cluster

app = cluster_commands(
    "cluster",
    "Look at a cluster: its brokers, its health, its groups' lag.",
    "kafkaesque cluster info && kafkaesque cluster offsets",
)


@app.command(cls=ClusterCommand)
def info(
    context: typer.Context,
    print_cluster: Annotated[
        bool, typer.Option("--print-cluster", "-c", help="Print the cluster's id.")
    ] = False,
    print_brokers: Annotated[
        bool, typer.Option("--print-brokers", help="Print the brokers.")
    ] = False,
    print_topics: Annotated[
        bool, typer.Option("--print-topics", "-t", help="Print the topics.")
    ] = False,
    print_internal: Annotated[
        bool,
        typer.Option("--print-internal-topics", "-i", help="Print internal topics (__...) too."),
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show a cluster's id, brokers and topics.

    Or only the parts that are asked for. A * marks the controller.

    \b
    Examples:
      kafkaesque cluster info
      kafkaesque cluster info --print-brokers --format json
    """
    from kafkaesque.client.cluster import cluster

    told = _told(cluster(connect(context)), internal=print_internal)
    asked = {
        "cluster": print_cluster,
        "brokers": print_brokers,
        "topics": print_topics or print_internal,
    }
    parts = {part: told[part] for part in told if asked[part] or not any(asked.values())}
    if output is Format.TABLE:
        _print(parts)
    else:
        echo_data(parts, output)


app.command(cls=ClusterCommand)(health)
app.command(cls=ClusterCommand)(offsets)


def _told(found: "Cluster", *, internal: bool) -> dict[str, Any]:
    return {
        "cluster": found.cluster_id,
        "brokers": [
            {
                "id": node.node_id,
                "host": node.host,
                "port": node.port,
                "controller": node.node_id == found.controller,
            }
            for node in found.nodes
        ],
        "topics": [
            asdict(topic) for topic in found.topics if internal or not topic.name.startswith("__")
        ],
    }


def _print(parts: dict[str, Any]) -> None:
    for position, (part, told) in enumerate(parts.items()):
        if position:
            typer.echo()
        if len(parts) > 1:
            echo_section(part.upper())
        _PRINTERS[part](told)


def _print_brokers(brokers: list[dict[str, Any]]) -> None:
    rows = [
        (f"{broker['id']}{'*' if broker['controller'] else ''}", broker["host"], broker["port"])
        for broker in brokers
    ]
    echo_table(("ID", "HOST", "PORT"), rows)


def _print_topics(topics: list[dict[str, Any]]) -> None:
    echo_table(("NAME", "PARTITIONS", "REPLICAS"), [tuple(topic.values()) for topic in topics])


_PRINTERS: dict[str, Callable[[Any], None]] = {
    "cluster": typer.echo,
    "brokers": _print_brokers,
    "topics": _print_topics,
}
