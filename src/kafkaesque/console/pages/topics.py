"""All topics: how many events, how many bytes, how fast, how far their readers are behind."""

from typing import Any

from kafkaesque.console.addresses import topic_path
from kafkaesque.console.pages.parts import (
    Column,
    Figures,
    Table,
    link,
    live,
    panel,
    title,
)
from kafkaesque.console.poller import Poller, View
from kafkaesque.console.snapshot import Snapshot, by_topic, total

COLUMNS = (
    Column("topic", "Topic", "link"),
    Column("partitions", "Partitions", "number", minor=True),
    Column("events", "Events", "number", hint="Records that are there now"),
    Column("size", "Size", "bytes", minor=True, hint="Bytes on disk"),
    Column("rate", "Rate", "rate", hint="Events written per second, over the last 5 s"),
    Column("minute", "Last minute", "spark", minor=True),
    Column("lag", "Lag", "number", minor=True, hint="Events its groups have still to read"),
)
NONE_YET = "No topics yet.\nMake one with: kafkaesque topic create orders -p 3"


def topics_page(poller: Poller) -> None:
    title("Topics")
    figures = Figures(Events="number", Rate="rate", Size="bytes", Lag="number")
    with panel():
        table = Table(
            COLUMNS, "topic", "", searchable=True, hideable="Internal topics", sort_by="topic"
        )

    def draw(view: View) -> None:
        table.explain("Asking the cluster …" if view.snapshot is None else NONE_YET)
        table.fade(view.problem is not None)
        if view.snapshot is not None:
            figures.show(**_figures(view, view.snapshot))
            table.show(_rows(view, view.snapshot))

    live(poller, draw)


def _figures(view: View, snapshot: Snapshot) -> dict[str, float | None]:
    """Of all topics that are people's own."""
    topics = [topic for topic in snapshot.topics.values() if not topic.internal]
    rates = by_topic(view.rates)
    return {
        "Events": total(topic.events for topic in topics),
        "Rate": sum(rates.get(topic.name, 0) for topic in topics) if rates else None,
        "Size": total(topic.size for topic in topics),
        "Lag": total(snapshot.lag_by_topic().values()),
    }


def _rows(view: View, snapshot: Snapshot) -> list[dict[str, Any]]:
    rates = by_topic(view.rates)
    lags = snapshot.lag_by_topic()
    return [
        {
            "id": topic.name,
            "hidden": topic.internal,
            "topic": link(topic.name, topic_path(topic.name)),
            "partitions": len(topic.partitions),
            "events": topic.events,
            "size": topic.size,
            "rate": rates.get(topic.name),
            "minute": [round(value, 2) for value in view.series.get(topic.name, [])],
            "lag": lags.get(topic.name),
        }
        for topic in snapshot.topics.values()
    ]
