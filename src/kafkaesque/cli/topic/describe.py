"""`kafkaesque topic describe`: a topic's settings and partitions, in the layout of the older rpk.

The settings shown are the three that say what kind of topic it is, and what is not at its default;
JSON and YAML hold everything. Of a compacted topic also those settings that say when the cleaner
runs, and how far it has got: a Kafkaesque broker tells that, other clusters do not.
Below: client/admin.py, by way of connecting.py; client/log_dirs.py.
"""

from dataclasses import asdict
from typing import Annotated

import typer

from kafkaesque.cli.connecting import connect
from kafkaesque.cli.output import CommandError, Format, OutputFormat, Row, echo_data, echo_grid
from kafkaesque.cli.reports import complain
from kafkaesque.cli.topic.names import TopicNames
from kafkaesque.client.topics import CLEANUP_POLICY, PartitionState, Setting, Topic

SETTING_HEADS = ("Name", "Value", "Read-only", "Sensitive")
PARTITION_HEADS = ("Partition", "Leader", "Replicas", "In-Sync Replicas", "High Watermark")
CLEANER_HEADS = ("Log Start Offset", "Size", "Compacted To")
CLEANER_SETTINGS = {
    "delete.retention.ms",
    "max.compaction.lag.ms",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
}

_OF_THE_TOPIC = "DYNAMIC_TOPIC_CONFIG"


def describe(
    context: typer.Context,
    names: TopicNames,
    print_all: Annotated[
        bool, typer.Option("--print-all", "-a", help="Show the settings at their defaults too.")
    ] = False,
    page: Annotated[int, typer.Option(min=1, help="Which page of the partitions to show.")] = 1,
    page_size: Annotated[
        int, typer.Option(min=0, help="Partitions on a page; 0: all.", show_default=False)
    ] = 0,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Show the settings of topics and the state of their partitions.

    \b
    Examples:
      kafkaesque topic describe orders
      kafkaesque topic describe orders --print-all --page 2 --page-size 20
      kafkaesque topic describe orders --format json
    """
    from kafkaesque.client.log_dirs import with_sizes

    admin = connect(context)
    found = admin.describe(list(dict.fromkeys(names)))
    topics = [entry for entry in found if isinstance(entry, Topic)]
    if output is not Format.TABLE or any(map(_is_compacted, topics)):
        topics = with_sizes(admin, topics)
    if output is Format.TABLE:
        for position, topic in enumerate(topics):
            if position:
                typer.echo()
            echo_grid(
                _summary(topic, print_all=print_all),
                _partition_rows(topic, page, page_size),
            )
    else:
        echo_data([asdict(topic) for topic in topics], output)
    complain(f"topic {it.name}: {it}" for it in found if not isinstance(it, Topic))


def _summary(topic: Topic, *, print_all: bool) -> list[Row]:
    policies = [setting.value for setting in topic.configs if setting.name == CLEANUP_POLICY]
    shown = [setting for setting in topic.configs if print_all or _is_shown(setting, topic)]
    # The policy first: what else is there differs from topic to topic.
    shown.sort(key=lambda setting: setting.name != CLEANUP_POLICY)
    return [
        ("Name", topic.name),
        ("Internal", _boolean(topic.internal)),
        ("Cleanup policy", *policies),
        ("Config:",),
        SETTING_HEADS,
        ("partition_count", len(topic.partitions), "false", "false"),
        ("replication_factor", topic.replicas, "false", "false"),
        *((it.name, it.value, _boolean(it.read_only), _boolean(it.sensitive)) for it in shown),
    ]


def _is_shown(setting: Setting, topic: Topic) -> bool:
    is_cleaners = setting.name in CLEANER_SETTINGS and _is_compacted(topic)
    return setting.name == CLEANUP_POLICY or setting.source == _OF_THE_TOPIC or is_cleaners


def _is_compacted(topic: Topic) -> bool:
    return "compact" in topic.policies


def _partition_rows(topic: Topic, page: int, page_size: int) -> list[Row]:
    partitions = topic.partitions
    size = page_size or max(len(partitions), 1)
    first = (page - 1) * size
    shown = partitions[first : first + size]
    if page > 1 and not shown:
        pages = -(-len(partitions) // size)
        raise CommandError(f"there is no page {page} of {pages}: give a smaller --page")
    return [
        ("Partitions", f"{first + 1} - {first + len(shown)} out of {len(partitions)}"),
        (*PARTITION_HEADS, *(CLEANER_HEADS if _is_compacted(topic) else ())),
        *(_partition_row(each, with_cleaner=_is_compacted(topic)) for each in shown),
    ]


def _partition_row(it: PartitionState, *, with_cleaner: bool) -> Row:
    row = (it.partition, it.leader, it.replicas, it.in_sync_replicas, it.high_watermark)
    return (*row, it.log_start_offset, it.size, it.cleaned_to) if with_cleaner else row


def _boolean(value: bool) -> str:
    return str(value).lower()
