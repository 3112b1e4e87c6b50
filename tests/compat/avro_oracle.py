"""Apache Avro for Java as an oracle: clients/java/AvroOracle.java over Avro's own jar.

Jackson and slf4j come with Apache Kafka's jars; Avro's is copied beside them once.
Above: test_avro_java.py. Below: tools.py.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.compat import tools
from tests.compat.java_programs import QUICK_START

AVRO = "1.12.0"
ROOM = ("-Xss64m", *QUICK_START)


class Answer(NamedTuple):
    """`verdict` is COMPATIBLE, INCOMPATIBLE, UNDECIDED or REFUSED; findings are `kind@path`."""

    verdict: str
    findings: frozenset[str]
    reader: str
    writer: str


def answers(pairs: Sequence[tuple[str, str]], classes: Path) -> list[Answer]:
    """What Java says of each (reader, writer); the texts may not hold tabs or line ends."""
    lines = "".join(f"{reader}\t{writer}\n" for reader, writer in pairs)
    finished = subprocess.run(
        _command(classes), input=lines.encode(), capture_output=True, check=True
    )
    said = finished.stdout.decode().split("\n")[:-1]
    assert len(said) == len(pairs), finished.stderr.decode()[-2000:]
    return [_answer(line) for line in said]


def _answer(line: str) -> Answer:
    said, reader, *writer = line.split("\t")
    verdict, *findings = said.split(" ")
    return Answer(verdict, frozenset(findings), reader, "".join(writer))


def _command(classes: Path) -> list[str]:
    command = tools.java("AvroOracle", flags=ROOM)
    path = command.index("-cp") + 1
    command[path] = f"{_avro_jar()}:{command[path]}"
    source = tools.CLIENTS / "java" / "AvroOracle.java"
    subprocess.run(["javac", "-cp", command[path], "-d", str(classes), str(source)], check=True)
    command[path] = f"{classes}:{command[path]}"
    return command


def _avro_jar() -> Path:
    jar = tools.TOOLS / "avro" / f"avro-{AVRO}.jar"
    if not jar.exists():
        goal = f"{tools.MAVEN_DEPENDENCY_PLUGIN}:copy"
        options = [
            f"-Dartifact=org.apache.avro:avro:{AVRO}",
            f"-DoutputDirectory={jar.parent}",
            f"-Dmaven.repo.local={tools.TOOLS / 'm2'}",
        ]
        ran = subprocess.run(
            ["mvn", "--batch-mode", "--quiet", goal, *options], capture_output=True, check=False
        )
        if ran.returncode != 0:
            raise tools.ToolMissingError(f"Maven cannot have avro {AVRO}: {ran.stdout.decode()}")
    return jar
