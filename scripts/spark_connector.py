"""`python -m scripts.spark_connector`: the jars of Spark's own Kafka connector, under `.tools/`.

They are what benchmarks and compatibility tests read our broker with, never what we need. Maven
fetches them as it is set up on this machine, each without what it depends on: that is in PySpark
already. Of 4.3.0 there is no connector to be had; 4.2.0 works with PySpark 4.3.0.
Above: benchmarks/spark_source.py.
"""

import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1] / ".tools"
JARS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.0",
)
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


class JarMissingError(Exception):
    """A jar could not be had; the message says why."""


def connector_jars() -> list[Path]:
    """Where they are, fetched if they are not there yet. Raises JarMissingError."""
    directory = TOOLS / "spark-connector"
    return [_jar(directory, *each.split(":")) for each in JARS]


def _jar(directory: Path, group: str, name: str, version: str) -> Path:
    jar = directory / f"{name}-{version}.jar"
    if jar.exists():
        return jar
    if shutil.which("mvn") is None:
        raise JarMissingError("mvn is not on the PATH: install Maven, version 3.8 or newer")
    command = [
        *("mvn", "--batch-mode", "--quiet", _COPY),
        f"-Dmaven.repo.local={TOOLS / 'm2'}",
        f"-Dartifact={group}:{name}:{version}",
        f"-DoutputDirectory={directory}",
    ]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ran.returncode or not jar.exists():
        raise JarMissingError(f"Maven cannot have {name} {version}: {ran.stdout[-2000:]}")
    return jar


if __name__ == "__main__":
    for found in connector_jars():
        sys.stdout.write(f"{found}\n")
