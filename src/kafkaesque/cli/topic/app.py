"""`kafkaesque topic …`: the topics of any Kafka cluster and what is in them.

The shape of the output is rpk's. A command over several topics does all it can, reports each, and
ends with exit code 1 if one failed. The longer commands have files of their own: produce.py,
consume.py, describe.py, trim.py. Below: client/admin.py, by way of connecting.py.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer

from kafkaesque.cli.connecting import ClusterCommand, cluster_commands, connect
from kafkaesque.cli.options import Pair, parse_pair
from kafkaesque.cli.output import CommandError, Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.reports import report
from kafkaesque.cli.topic.consume import consume
from kafkaesque.cli.topic.describe import describe
from kafkaesque.cli.topic.names import TopicNames
from kafkaesque.cli.topic.produce import produce
from kafkaesque.cli.topic.trim import trim
from kafkaesque.client.topics import Change

app = cluster_commands(
    "topic",
    "Make, list, describe, fill, read, change and delete topics.",
    "kafkaesque topic create orders -p 3 && kafkaesque topic describe orders",
)


@app.command(cls=ClusterCommand)
def create(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...", show_default=False)],
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions", "-p", min=1, max=100_000, help="Partitions; else the broker's default."
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            "--replicas", "-r", min=1, max=10_000, help="Replicas; else the broker's default."
        ),
    ] = None,
    config: Annotated[
        list[Pair] | None,
        typer.Option(
            "--topic-config",
            "-c",
            parser=parse_pair,
            metavar="NAME=VALUE",
            help="A setting of the topics. Repeatable.",
        ),
    ] = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Make topics.

    \b
    Examples:
      kafkaesque topic create orders -p 3
      kafkaesque topic create prices quotes -c cleanup.policy=compact
    """
    cluster = connect(context)
    statuses = cluster.create(
        each_once(names), partitions or -1, replicas or -1, dict(config or [])
    )
    report("topic", statuses, output)


@app.command(cls=ClusterCommand)
def delete(
    context: typer.Context,
    names: TopicNames,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Delete topics and all their records, at once and without asking.

    Example: kafkaesque topic delete orders
    """
    report("topic", connect(context).delete(each_once(names)), output)


@app.command("list", cls=ClusterCommand)
def list_topics(
    context: typer.Context,
    internal: Annotated[
        bool, typer.Option("--internal", "-i", help="Show internal topics (__...) too.")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """List the topics.

    Example: kafkaesque topic list --brokers 127.0.0.1:19092
    """
    topics = [
        topic for topic in connect(context).topics() if internal or not topic.name.startswith("__")
    ]
    if output is Format.TABLE:
        rows = [(topic.name, topic.partitions, topic.replicas) for topic in topics]
        echo_table(("NAME", "PARTITIONS", "REPLICAS"), rows)
    else:
        echo_data([asdict(topic) for topic in topics], output)


@app.command("add-partitions", cls=ClusterCommand)
def add_partitions(
    context: typer.Context,
    names: TopicNames,
    num: Annotated[
        int, typer.Option("--num", "-n", min=1, max=100_000, help="How many to add to each topic.")
    ],
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Also to internal topics (__...).")
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Give topics more partitions than they have. Keys may then go to other partitions.

    Example: kafkaesque topic add-partitions orders --num 3
    """
    for name in names:
        if name.startswith("__") and not force:
            raise CommandError(f"{name} is an internal topic: give --force if you mean it")
    report("topic", connect(context).add_partitions(each_once(names), num), output)


@app.command("alter-config", cls=ClusterCommand)
def alter_config(
    context: typer.Context,
    names: TopicNames,
    sets: Annotated[
        list[Pair] | None,
        typer.Option(
            "--set",
            "-s",
            parser=parse_pair,
            metavar="NAME=VALUE",
            help="Give a setting this value. Repeatable.",
        ),
    ] = None,
    deletes: Annotated[
        list[str] | None,
        typer.Option(
            "--delete",
            "-d",
            metavar="NAME",
            help="Put a setting back to its default. Repeatable.",
        ),
    ] = None,
    appends: Annotated[
        list[Pair] | None,
        typer.Option(
            "--append",
            parser=parse_pair,
            metavar="NAME=VALUE",
            help="Add to a setting that is a list. Repeatable.",
        ),
    ] = None,
    subtracts: Annotated[
        list[Pair] | None,
        typer.Option(
            "--subtract",
            parser=parse_pair,
            metavar="NAME=VALUE",
            help="Take from a setting that is a list. Repeatable.",
        ),
    ] = None,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Change settings of topics.

    \b
    Examples:
      kafkaesque topic alter-config orders --set retention.ms=60000
      kafkaesque topic alter-config orders --delete retention.ms
      kafkaesque topic alter-config orders --append cleanup.policy=compact
    """
    changes = [
        *(Change("SET", *pair) for pair in sets or []),
        *(Change("DELETE", name, None) for name in deletes or []),
        *(Change("APPEND", *pair) for pair in appends or []),
        *(Change("SUBTRACT", *pair) for pair in subtracts or []),
    ]
    if not changes:
        raise typer.BadParameter("say what to change with --set, --delete, --append or --subtract")
    report("topic", connect(context).alter_config(each_once(names), changes), output)


app.command(cls=ClusterCommand)(describe)
app.command(cls=ClusterCommand)(produce)
app.command(cls=ClusterCommand)(consume)
app.command(cls=ClusterCommand)(trim)


def each_once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
