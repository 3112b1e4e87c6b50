"""Writes docs/reference/kafka-tools.md from the table of tool_rows.py.

`python -m tests.compat.tool_page` writes it; test_kafka_tools.py fails when it is out of date.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.compat.kafka_tools import MAIN_CLASSES
from tests.compat.tool_rows import ROWS, ROWS_OF_FILES, Differs, Row

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kafka-tools.md"
# Tools that are not in the rows, with what there is instead.
ELSEWHERE = {
    "connect-distributed": "works: an exactly-once source, in `tests/compat/test_kafka_connect.py`",
    "connect-mirror-maker": "works: both ways, in `tests/compat/test_mirror_maker.py`",
    "connect-standalone": "works: a file over a topic, in `tests/compat/test_kafka_connect.py`",
    "kafka-jmx": "has nobody to ask: the broker is not a JVM",
    "kafka-server-start, kafka-server-stop": "are Kafka's broker",
    "trogdor": "works: a round trip of its agent, in `tests/compat/test_trogdor.py`",
}


def page() -> str:
    rows = (*ROWS, *ROWS_OF_FILES)
    return "\n".join(
        (
            "# The command-line tools of Apache Kafka 4.3",
            "",
            "`make compat` runs every tool of Kafka's `bin` directory against the broker and",
            "against Apache Kafka, and compares what they say. Counted are command lines: those",
            "that say the same, those refused with the same error in other words, and those that",
            "differ.",
            "",
            "| tool | the same | in other words | differs |",
            "| --- | --- | --- | --- |",
            *(_count(tool, [row for row in rows if row.tool == tool]) for tool in MAIN_CLASSES),
            "",
            "## What differs",
            "",
            "| command | why | what the broker's side says |",
            "| --- | --- | --- |",
            *_differences(rows),
            "",
            "## Not in the table",
            "",
            "| tool | |",
            "| --- | --- |",
            *(f"| {tool} | {what} |" for tool, what in ELSEWHERE.items()),
            "",
        )
    )


def _count(tool: str, rows: Sequence[Row]) -> str:
    differing = sum(isinstance(row.expected, Differs) for row in rows)
    worded = sum(row.expected.words for row in rows if not isinstance(row.expected, Differs))
    return f"| {tool} | {worded} | {len(rows) - differing - worded} | {differing} |"


def _differences(rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        if isinstance(difference := row.expected, Differs):
            said = f"`{difference.text}`" if difference.text else "nothing"
            yield f"| `{row.name.strip()}` | {difference.why} | {said} |"


if __name__ == "__main__":
    PAGE.write_text(page())
