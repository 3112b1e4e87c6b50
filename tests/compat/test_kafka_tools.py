"""Every command-line tool of Apache Kafka 4.3 on our broker, beside what it says on Kafka itself.

The table is in tool_rows.py; it is played once on each broker, and each row is then one test.
"""

import re
import zipfile
from dataclasses import dataclass

import pytest
from tests.broker_process import BrokerProcess
from tests.compat import tools
from tests.compat.apache_kafka import ApacheKafka
from tests.compat.kafka_tools import MAIN_CLASSES, Outcome, ToolJvm
from tests.compat.tool_page import PAGE, page
from tests.compat.tool_rows import ROWS, ROWS_OF_FILES, Differs, Row
from tests.compat.tool_scene import play

from kafkaesque.broker.apis import APIS

pytestmark = [pytest.mark.compat, pytest.mark.timeout(400)]

ALL_ROWS = (*ROWS, *ROWS_OF_FILES)
NODE = {
    "node.id": "0",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
# With this feature Kafka sets min.insync.replicas for the whole cluster, which shows everywhere.
WITHOUT_ELR = ("--feature", "eligible.leader.replicas.version=0")
NO_CLIENTS_OF_A_BROKER = {
    "org.apache.kafka.tools.ClientCompatibilityTest": "one of Kafka's own tests",
    "org.apache.kafka.tools.JmxTool": "kafka-jmx asks a JVM, and our broker is none",
    "org.apache.kafka.tools.LogCompactionTester": "one of Kafka's own tests",
    "org.apache.kafka.tools.OAuthCompatibilityTool": "it asks an OAuth server",
    "org.apache.kafka.tools.TransactionalMessageCopier": "one of Kafka's own tests",
}
ERRORS = re.compile(r"\b\w+Exception\b")
VERSIONS = re.compile(r"^\t(\w+\(\d+\): .*?),?$", re.MULTILINE)
NAMES = [f"{number:03}-{row.name}" for number, row in enumerate(ALL_ROWS)]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the tools said, row by row, on Apache Kafka and on our broker."""

    kafka: list[Outcome]
    ours: list[Outcome]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    place = tmp_path_factory.mktemp("tools")
    kafka = ApacheKafka(place / "kafka" / "data", NODE, format_flags=WITHOUT_ELR)
    (place / "ours").mkdir()
    with ToolJvm(place / "classes") as jvm:
        return Answers(
            play(kafka, jvm, place / "kafka-files"),
            play(BrokerProcess(place / "ours" / "data"), jvm, place / "our-files"),
        )


@pytest.mark.parametrize("number", range(len(ALL_ROWS)), ids=NAMES)
def test_a_tool_answers_as_the_table_says(number: int, answers: Answers) -> None:
    row, kafka, ours = ALL_ROWS[number], answers.kafka[number], answers.ours[number]
    expectation = row.expected
    if isinstance(expectation, Differs):
        assert expectation.text in ours.out + ours.err, _beside(row, kafka, ours)
        assert ours != kafka, "it is as on Kafka now: say so in the table"
    elif expectation.words:
        assert ours == kafka, _beside(row, kafka, ours)
    else:
        assert _gist(ours) == _gist(kafka), _beside(row, kafka, ours)
        assert ours != kafka, "it has Kafka's words now: say so in the table"


def _gist(outcome: Outcome) -> tuple[int, list[str]]:
    return outcome.code, ERRORS.findall(outcome.out + outcome.err)


def _beside(row: Row, kafka: Outcome, ours: Outcome) -> str:
    sides = (("Kafka", kafka), ("ours", ours))
    told = [f"--- {name}: {side.code}\n{side.out}{side.err}" for name, side in sides]
    return "\n".join([row.name, *told])


def test_what_is_advertised_has_the_versions_of_kafka(answers: Answers) -> None:
    (number,) = (n for n, row in enumerate(ROWS) if row.tool == "kafka-broker-api-versions")
    kafka, ours = (VERSIONS.findall(side[number].out) for side in (answers.kafka, answers.ours))
    answered = [line for line in ours if "UNSUPPORTED" not in line]
    assert len(answered) >= len(APIS) - 1
    assert set(answered) <= set(kafka)


def test_every_program_of_the_tools_jar_is_in_the_table() -> None:
    (jar,) = (each for each in tools.ecosystem_jars() if each.name.startswith("kafka-tools-4"))
    with zipfile.ZipFile(jar) as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if "$" not in name}
    programs = {
        name.removesuffix(".class").replace("/", ".")
        for name, content in contents.items()
        if b"\x04main" in content and b"([Ljava/lang/String;)V" in content
    }
    known = {MAIN_CLASSES[row.tool] for row in ALL_ROWS} | set(NO_CLIENTS_OF_A_BROKER)
    assert programs - known == set()


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text() == page(), "run `python -m tests.compat.tool_page`"
