"""One topic: partitions, who reads it, schemas, settings, and a live tail of its records."""

from typing import Any

from nicegui import ui

from kafkaesque.client.registry import RegistryError
from kafkaesque.client.subjects import subject_named
from kafkaesque.client.topics import Setting
from kafkaesque.console.addresses import TOPICS, group_path
from kafkaesque.console.pages.parts import (
    Column,
    Figures,
    Table,
    link,
    live,
    panel,
    tag,
    text,
    title,
)
from kafkaesque.console.pages.schemas import COLUMNS as SUBJECTS
from kafkaesque.console.pages.schemas import subject_row
from kafkaesque.console.pages.tail import TailPanel
from kafkaesque.console.poller import Poller, View
from kafkaesque.console.schemas import Schemas
from kafkaesque.console.snapshot import Partition, Snapshot, Topic, by_topic
from kafkaesque.types import TopicPartition

PARTITIONS = (
    Column("partition", "Partition", "number"),
    Column("leader", "Leader", "number", minor=True),
    Column("replicas", "Replicas", minor=True, hint="In sync / all"),
    Column("start", "Start", "number", minor=True, hint="The first offset that is there"),
    Column("end", "End", "number", hint="The next offset to be written"),
    Column("events", "Events", "number"),
    Column("size", "Size", "bytes", minor=True),
    Column("rate", "Rate", "rate"),
)
READERS = (
    Column("group", "Group", "link"),
    Column("state", "State", "state"),
    Column("lag", "Lag", "number", hint="Events of this topic that it has still to read"),
)
SETTINGS = (
    Column("name", "Setting", mono=True),
    Column("value", "Value", mono=True),
    Column("source", "Source", minor=True),
)


def topic_page(poller: Poller, schemas: Schemas | None, name: str) -> None:
    title(name, ("Topics", TOPICS))
    missing = text("p", f"There is no topic {name} now.", "k-empty")
    with tag("div") as there:
        figures = Figures(
            Events="number", Rate="rate", Size="bytes", Partitions="number", Lag="number"
        )
        TailPanel(poller, name, None if schemas is None else schemas.reader)
        with tag("div", "k-two"):
            with panel("Partitions"):
                partitions = Table(PARTITIONS, "partition", "Asking the cluster …")
            with panel("Groups that read it"):
                readers = Table(READERS, "group", "No group has read it.")
        if schemas is not None:
            _subjects(schemas, name)
        _settings(poller, name)

    def draw(view: View) -> None:
        topic = view.snapshot.topics.get(name) if view.snapshot else None
        there.set_visibility(topic is not None)
        missing.set_visibility(topic is None and view.snapshot is not None)
        if topic is not None and view.snapshot is not None:
            figures.show(**_figures(view, view.snapshot, topic))
            partitions.show([_partition_row(view, name, each) for each in topic.partitions])
            readers.show(_reader_rows(view.snapshot, name))

    live(poller, draw)


def _subjects(schemas: Schemas, name: str) -> None:
    """Where serializers look for the schemas of a topic."""
    with panel("Schemas"):
        table = Table(SUBJECTS, "subject", "Asking the registry …")

    async def fill() -> None:
        try:
            found = await schemas.ask(
                lambda registry: [
                    subject_named(registry, f"{name}-{part}") for part in ("key", "value")
                ]
            )
        except RegistryError as error:
            table.explain(str(error))
            return
        table.explain(f"There is no subject {name}-value and no {name}-key.")
        table.show([subject_row(each) for each in found if each is not None])

    ui.timer(0, fill, once=True)


def _settings(poller: Poller, name: str) -> None:
    with tag("details", "k-panel"):
        text("summary", "Settings")
        table = Table(SETTINGS, "setting", "Asking the cluster …")

    async def fill() -> None:
        table.show([_setting_row(setting) for setting in await poller.settings(name)])

    ui.timer(0, fill, once=True)


def _figures(view: View, snapshot: Snapshot, topic: Topic) -> dict[str, float | None]:
    return {
        "Events": topic.events,
        "Rate": by_topic(view.rates).get(topic.name),
        "Size": topic.size,
        "Partitions": len(topic.partitions),
        "Lag": snapshot.lag_by_topic().get(topic.name),
    }


def _partition_row(view: View, topic: str, partition: Partition) -> dict[str, Any]:
    return {
        "id": partition.number,
        "partition": partition.number,
        "leader": partition.leader if partition.leader >= 0 else None,
        "replicas": f"{partition.in_sync} / {partition.replicas}",
        "start": partition.start,
        "end": partition.end,
        "events": partition.events,
        "size": partition.size,
        "rate": view.rates.get(TopicPartition(topic, partition.number)),
    }


def _reader_rows(snapshot: Snapshot, topic: str) -> list[dict[str, Any]]:
    return [
        {
            "id": group.name,
            "group": link(group.name, group_path(group.name)),
            "state": group.state,
            "lag": lag,
        }
        for group, lag in snapshot.lags_on(topic)
    ]


def _setting_row(setting: Setting) -> dict[str, Any]:
    return {
        "id": setting.name,
        "name": setting.name,
        "value": setting.value,
        "source": setting.source.replace("_", " ").lower(),
    }
