"""`kafkaesque cluster health`: is every partition led, and does every replica keep up?

Exit code 0 says healthy, 1 not. A watch prints what has changed, and outlives a cluster that is
away. Above: app.py. Below: client/cluster.py, imported on use because it loads librdkafka.
"""

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kafkaesque.cli.connecting import connect
from kafkaesque.cli.output import (
    Format,
    OutputFormat,
    echo_columns,
    echo_data,
    echo_section,
    tell,
)
from kafkaesque.client.connection import ClusterError

if TYPE_CHECKING:
    from kafkaesque.client.cluster import Health
    from kafkaesque.types import TopicPartition

PERIOD_S = 1.0
# Between what a watch prints.
SEPARATORS = {Format.TABLE: "\n", Format.JSON: "", Format.YAML: "---\n"}


def health(
    context: typer.Context,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on, and print every change, until Ctrl-C.")
    ] = False,
    exit_when_healthy: Annotated[
        bool, typer.Option("--exit-when-healthy", "-e", help="Watch until the cluster is healthy.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Say whether a cluster is healthy.

    The exit code is 1 if it is not.

    \b
    Examples:
      kafkaesque cluster health
      kafkaesque cluster health --watch --exit-when-healthy
    """
    if watch or exit_when_healthy:
        _watch(context, output, until_healthy=exit_when_healthy)
        return
    found = _look(context)
    _print(found, output)
    if found.reasons:
        raise typer.Exit(1)


def _watch(context: typer.Context, output: Format, *, until_healthy: bool) -> None:
    separator = ""
    try:
        for found in _changes(context):
            typer.echo(separator, nl=False)
            separator = SEPARATORS[output]
            _print(found, output)
            if until_healthy and not found.reasons:
                return
    except KeyboardInterrupt:
        return


def _changes(context: typer.Context) -> "Iterator[Health]":
    """The cluster's health whenever it is another; why it cannot be known goes to stderr."""
    last: Health | str | None = None
    while True:
        found = _look_or_complain(context)
        if found != last:
            if isinstance(found, str):
                tell(found)
            else:
                yield found
        last = found
        time.sleep(PERIOD_S)


def _look(context: typer.Context) -> "Health":
    from kafkaesque.client.cluster import cluster, health_of

    return health_of(cluster(connect(context)))


def _look_or_complain(context: typer.Context) -> "Health | str":
    try:
        return _look(context)
    except ClusterError as error:
        return str(error)


def _print(found: "Health", output: Format) -> None:
    if output is not Format.TABLE:
        echo_data(_told(found), output)
        return
    echo_section("CLUSTER HEALTH OVERVIEW")
    leaderless, lagging = _texts(found.leaderless), _texts(found.under_replicated)
    echo_columns(
        [
            ("Healthy:", str(not found.reasons).lower()),
            ("Unhealthy reasons:", _listed(found.reasons)),
            ("Controller ID:", found.controller),
            ("All nodes:", _listed(found.nodes)),
            ("Nodes down:", _listed(found.nodes_down)),
            (f"Leaderless partitions ({len(leaderless)}):", _listed(leaderless)),
            (f"Under-replicated partitions ({len(lagging)}):", _listed(lagging)),
        ]
    )


def _told(found: "Health") -> dict[str, object]:
    return {
        "healthy": not found.reasons,
        "unhealthy_reasons": found.reasons,
        "controller_id": found.controller,
        "all_nodes": found.nodes,
        "nodes_down": found.nodes_down,
        "leaderless_partitions": _texts(found.leaderless),
        "under_replicated_partitions": _texts(found.under_replicated),
    }


def _texts(places: "list[TopicPartition]") -> list[str]:
    return [f"{topic}/{partition}" for topic, partition in places]


def _listed(values: Sequence[object]) -> str:
    return f"[{', '.join(map(str, values))}]"
