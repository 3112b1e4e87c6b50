"""Writes docs/reference/apis.md and docs/reference/settings.md from the tables in the code.

`python scripts/write_reference.py` writes them; tests/test_docs.py fails when they are out of date.
"""

from collections.abc import Iterable
from pathlib import Path

from kafkaesque.broker.apis import APIS
from kafkaesque.broker.broker_settings import BROKER_SETTINGS
from kafkaesque.broker.node_settings import NODE_SETTINGS, NodeSetting
from kafkaesque.broker.settings import Setting
from kafkaesque.broker.topic_settings import TOPIC_SETTINGS

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"


def apis() -> str:
    rows = [f"| {a.key} | {a.name} | {a.min_version}–{a.max_version} |" for a in APIS.values()]
    return "\n".join(
        (
            "# APIs",
            "",
            "What the broker answers, in the versions of Kafka 4.3. `ApiVersions` says the same.",
            "Produce 0–2 are advertised for librdkafka's sake and refused.",
            "",
            "| key | API | versions |",
            "| --- | --- | --- |",
            *rows,
            "",
        )
    )


def settings() -> str:
    return "\n".join(
        (
            "# Settings",
            "",
            "Names, kinds and defaults are Kafka's, but for `log.cleaner.niceness`, `max.topics`,",
            "`max.partitions`, `max.producer.ids`, `queued.max.request.bytes.per.connection`,",
            "`strict.replication`, `write.caching.default`",
            "and `write.caching`.",
            "A value that could not take effect is refused with INVALID_CONFIG, unless no client",
            "could tell: then its line says so.",
            "",
            "## Broker",
            "",
            "Set at start with `kafkaesque broker --set name=value`. Those marked *live* can",
            "also be changed over the wire (AlterConfigs), which lasts.",
            "",
            "| setting | kind | default | live | what |",
            "| --- | --- | --- | --- | --- |",
            *_broker_rows(BROKER_SETTINGS.values()),
            "",
            "## Of the node",
            "",
            "What DescribeConfigs tells of how the broker was started. They are read only, and",
            "`--set` does not know them.",
            "",
            "| setting | kind | what | chosen by |",
            "| --- | --- | --- | --- |",
            *_node_rows(NODE_SETTINGS.values()),
            "",
            "## Topic",
            "",
            "Set with CreateTopics or AlterConfigs, for example",
            "`kafkaesque topic create -c retention.ms=1000 t`. A topic that does not set one",
            "follows the broker's, where one is named.",
            "",
            "| setting | kind | default | follows | what |",
            "| --- | --- | --- | --- | --- |",
            *_topic_rows(TOPIC_SETTINGS.values()),
            "",
        )
    )


def _broker_rows(rows: Iterable[Setting]) -> Iterable[str]:
    for s in rows:
        live = "live" if s.dynamic else ""
        yield f"| `{s.name}` | {s.kind.name.lower()} | `{s.default}` | {live} | {s.doc} |"


def _node_rows(rows: Iterable[NodeSetting]) -> Iterable[str]:
    for s in rows:
        yield f"| `{s.name}` | {s.kind.name.lower()} | {s.doc} | {s.how} |"


def _topic_rows(rows: Iterable[Setting]) -> Iterable[str]:
    for s in rows:
        follows = f"`{s.follows}`" if s.follows else ""
        yield f"| `{s.name}` | {s.kind.name.lower()} | `{s.default}` | {follows} | {s.doc} |"


PAGES = {"apis.md": apis, "settings.md": settings}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page())
