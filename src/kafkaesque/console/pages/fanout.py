"""The fan-out: who is connected, what they get and what they miss, and the workers that serve them.

The fan-out is asked only while this page is open. Above: frame.py. Below: fanout_poller.py.
"""

from collections.abc import Mapping
from typing import Any

from kafkaesque.console.addresses import topic_path
from kafkaesque.console.fanout_figures import Figures as Answer
from kafkaesque.console.fanout_poller import FanoutPoller, FanoutView
from kafkaesque.console.pages.parts import (
    Column,
    Figures,
    Table,
    Watch,
    link,
    live,
    panel,
    tag,
    text,
    title,
)

SLOW = (
    Column("peer", "Client", mono=True),
    Column("subscriptions", "Subscriptions", "number"),
    Column("dropped", "Dropped", "number", hint="Messages that it has missed, and was told of"),
    Column("since", "Slow for", "duration", hint="Since it last took all there was for it"),
)
TOPICS = (
    Column("topic", "Topic", "link"),
    Column("subscriptions", "Subscriptions", "number"),
    Column(
        "partitions", "Partitions read", hint="Those that can have a match, in each worker / all"
    ),
    Column(
        "lag", "Lag", "number", hint="Records that are there and not read yet: the worst worker"
    ),
)
WORKERS = (
    Column("worker", "Worker", "number"),
    Column("pid", "Process", minor=True),
    Column("connections", "Connections", "number"),
    Column("memory", "Memory", "bytes"),
    Column("restarts", "Restarts", "number", hint="How often it had to be started again"),
)
KINDS = {
    "Connections": "number",
    "Subscriptions": "number",
    "Delivered": "rate",
    "Dropped": "number",
    "Conflated": "number",
    "Paused": "number",
    "Lag": "number",
    "Latency p50": "latency",
    "Latency p99": "latency",
}


def fanout_page(poller: FanoutPoller) -> None:
    title("Fan-out")
    Watch(poller)
    problem = text("p", "", "k-banner").props('role="alert"')
    figures = Figures(**KINDS)
    with panel("Slow clients"):
        slow = Table(SLOW, "client", "Asking the fan-out …", sort_by="dropped", down=True)
    with tag("div", "k-two"):
        with panel("Topics that are read"):
            topics = Table(TOPICS, "topic", "Asking the fan-out …")
        with panel("Workers"):
            workers = Table(WORKERS, "worker", "Asking the fan-out …")

    def draw(view: FanoutView) -> None:
        answer = view.figures
        troubles = "; ".join(answer.troubles) if answer is not None else ""
        words = view.problem or (troubles and f"The fan-out has trouble: {troubles}.")
        problem.set_visibility(bool(words))
        problem.write(words)
        for table in (slow, topics, workers):
            table.fade(view.problem is not None)
        if answer is not None:
            figures.show(**_figures(view, answer))
            slow.explain("Every client keeps up.")
            slow.show([_slow_row(answer, number, row) for number, row in enumerate(answer.slow)])
            topics.explain("Nobody has subscribed to a topic.")
            topics.show([_topic_row(name, row) for name, row in sorted(answer.topics.items())])
            workers.show([_worker_row(row) for row in answer.workers])

    live(poller, draw)


def _figures(view: FanoutView, answer: Answer) -> dict[str, float | None]:
    return {
        "Connections": answer.number("connections"),
        "Subscriptions": answer.number("subscriptions"),
        "Delivered": view.delivered_rate,
        "Dropped": answer.number("dropped"),
        "Conflated": answer.number("conflated"),
        "Paused": answer.number("paused"),
        "Lag": answer.number("lag"),
        "Latency p50": view.latency_p50_ms,
        "Latency p99": view.latency_p99_ms,
    }


def _slow_row(answer: Answer, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    # Several clients may come from one address.
    return {
        "id": number,
        "peer": row["peer"],
        "subscriptions": row["subscriptions"],
        "dropped": row["dropped"],
        "since": max(0, answer.at_ms - int(row["since"] * 1000)),
    }


def _topic_row(name: str, row: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": name,
        "topic": link(name, topic_path(name)),
        "subscriptions": row.get("subscriptions"),
        "partitions": f"{row.get('partitions_read', 0):,} / {row.get('partitions', 0):,}",
        "lag": row.get("lag"),
    }


def _worker_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["worker"],
        "worker": row["worker"],
        "pid": str(row["pid"]),
        "connections": row["connections"],
        "memory": row["resident_bytes"] or None,
        "restarts": row["restarts"],
    }
