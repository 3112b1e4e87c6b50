"""`kafkaesque topic …`: make, list, describe and delete topics of any Kafka cluster.

The shape of the output is rpk's. A command over several topics does all it can, reports each, and
ends with exit code 1 if one failed. Below: admin.py, imported on use because it loads librdkafka.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kafkaesque.cli.options import Pair, parse_brokers, parse_pair
from kafkaesque.cli.output import Format, echo_columns, echo_json, echo_section, echo_table

if TYPE_CHECKING:
    from kafkaesque.cli.admin import Admin, Status, Topic

app = typer.Typer(
    name="topic",
    help="Make, list, describe and delete topics.",
    epilog="Example: kafkaesque topic create orders -p 3 && kafkaesque topic describe orders",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Names: TypeAlias = Annotated[list[str], typer.Argument(metavar="NAME", show_default=False)]
Brokers: TypeAlias = Annotated[
    str,
    typer.Option(
        "--brokers",
        "-b",
        envvar="KAFKAESQUE_BROKERS",
        metavar="HOST:PORT,...",
        help="Brokers to ask.",
    ),
]
OutputFormat: TypeAlias = Annotated[Format, typer.Option("--format", help="What to print.")]
Timeout: TypeAlias = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds to wait for an answer.")
]

LOCAL = "127.0.0.1:9092"


@app.command()
def create(
    names: Names,
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
            "--config",
            "-c",
            parser=parse_pair,
            metavar="NAME=VALUE",
            help="A setting of the topics. Repeatable.",
        ),
    ] = None,
    brokers: Brokers = LOCAL,
    output: OutputFormat = Format.TABLE,
    timeout: Timeout = 10,
) -> None:
    """Make topics.

    \b
    Examples:
      kafkaesque topic create orders -p 3
      kafkaesque topic create prices quotes -c cleanup.policy=compact
    """
    cluster = _connect(brokers, timeout)
    _report(
        cluster.create(_each_once(names), partitions or -1, replicas or -1, dict(config or [])),
        output,
    )


@app.command()
def delete(
    names: Names,
    brokers: Brokers = LOCAL,
    output: OutputFormat = Format.TABLE,
    timeout: Timeout = 10,
) -> None:
    """Delete topics and all their records, at once and without asking.

    Example: kafkaesque topic delete orders
    """
    _report(_connect(brokers, timeout).delete(_each_once(names)), output)


@app.command("list")
def list_topics(
    internal: Annotated[
        bool, typer.Option("--internal", "-i", help="Show internal topics (__...) too.")
    ] = False,
    brokers: Brokers = LOCAL,
    output: OutputFormat = Format.TABLE,
    timeout: Timeout = 10,
) -> None:
    """List the topics.

    Example: kafkaesque topic list --brokers 127.0.0.1:19092
    """
    topics = [
        topic
        for topic in _connect(brokers, timeout).topics()
        if internal or not topic.name.startswith("__")
    ]
    if output is Format.JSON:
        echo_json([asdict(topic) for topic in topics])
    else:
        rows = [(topic.name, topic.partitions, topic.replicas) for topic in topics]
        echo_table(("NAME", "PARTITIONS", "REPLICAS"), rows)


@app.command()
def describe(
    names: Names,
    brokers: Brokers = LOCAL,
    output: OutputFormat = Format.TABLE,
    timeout: Timeout = 10,
) -> None:
    """Show the settings of topics, and where the log of each partition starts and ends.

    Example: kafkaesque topic describe orders --format json
    """
    from kafkaesque.cli.admin import Topic

    found = _connect(brokers, timeout).describe(_each_once(names))
    topics = [entry for entry in found if isinstance(entry, Topic)]
    if output is Format.JSON:
        echo_json([asdict(topic) for topic in topics])
    else:
        for position, topic in enumerate(topics):
            _print_topic(topic, is_first=position == 0)
    failed = [entry for entry in found if not isinstance(entry, Topic)]
    for status in failed:
        typer.echo(f"kafkaesque: topic {status.topic}: {status}", err=True)
    if failed:
        raise typer.Exit(1)


def _connect(brokers: str, timeout: float) -> "Admin":
    addresses = parse_brokers(brokers)
    from kafkaesque.cli.admin import Admin

    return Admin.connect(addresses, timeout)


def _each_once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _report(statuses: "Sequence[Status]", output: Format) -> None:
    if output is Format.JSON:
        echo_json([{"topic": s.topic, "error": s.error, "status": str(s)} for s in statuses])
    else:
        echo_table(("TOPIC", "STATUS"), [(status.topic, status) for status in statuses])
    if any(status.error for status in statuses):
        raise typer.Exit(1)


def _print_topic(topic: "Topic", *, is_first: bool) -> None:
    if not is_first:
        typer.echo()
    echo_section("SUMMARY")
    echo_columns(
        [
            ("NAME", topic.name),
            ("INTERNAL", str(topic.internal).lower()),
            ("PARTITIONS", len(topic.partitions)),
            ("REPLICAS", topic.replicas),
        ]
    )
    typer.echo()
    echo_section("CONFIGS")
    settings = [(setting.name, setting.value, setting.source) for setting in topic.configs]
    echo_table(("KEY", "VALUE", "SOURCE"), settings)
    typer.echo()
    echo_section("PARTITIONS")
    _print_partitions(topic)


def _print_partitions(topic: "Topic") -> None:
    heads = (
        "PARTITION",
        "LEADER",
        "REPLICAS",
        "IN-SYNC-REPLICAS",
        "LOG-START-OFFSET",
        "HIGH-WATERMARK",
    )
    echo_table(
        heads,
        [
            (
                p.partition,
                p.leader,
                p.replicas,
                p.in_sync_replicas,
                p.log_start_offset,
                p.high_watermark,
            )
            for p in topic.partitions
        ],
    )
