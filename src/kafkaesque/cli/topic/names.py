"""Names of topics on the command line: their completion by asking the cluster, and what is said of
one that is not there.

Above: app.py, produce.py, consume.py, trim.py. Below: completion.py.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kafkaesque.cli.completion import complete
from kafkaesque.client.connection import ClusterError

if TYPE_CHECKING:
    from kafkaesque.client.admin import Admin
    from kafkaesque.types import TopicPartition


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    """Internal topics are offered to those who have typed an underscore."""
    names = complete(context, incomplete, lambda admin: [topic.name for topic in admin.topics()])
    return [name for name in names if incomplete or not name.startswith("__")]


TopicNames: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="TOPIC...", show_default=False, autocompletion=complete_topics),
]
TopicName: TypeAlias = Annotated[
    str, typer.Argument(metavar="TOPIC", show_default=False, autocompletion=complete_topics)
]


def partitions_of(admin: "Admin", topics: Sequence[str]) -> "list[TopicPartition]":
    """All partitions of the topics. Raises ClusterError if one is not there."""
    partitions = admin.partitions(topics)
    missing = set(topics) - {place.topic for place in partitions}
    if missing:
        name = min(missing)
        raise ClusterError(
            f"there is no topic {name}: see which there are with `kafkaesque topic list`, "
            f"or make it with `kafkaesque topic create {name}`"
        )
    return partitions


def choose_partitions(
    partitions: "Sequence[TopicPartition]", numbers: Sequence[int]
) -> "list[TopicPartition]":
    """Those with the given numbers; all of them if none is given."""
    unknown = set(numbers) - {place.partition for place in partitions}
    if unknown:
        topics = " ".join(dict.fromkeys(place.topic for place in partitions))
        raise ClusterError(
            f"there is no partition {min(unknown)}: see which there are with "
            f"`kafkaesque topic describe {topics}`"
        )
    return [place for place in partitions if not numbers or place.partition in numbers]
