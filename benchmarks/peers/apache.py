"""Apache Kafka, KRaft on one node, with the flags of Java that its own start script gives it.

As it comes it does not sync before it acknowledges. `flush.messages=1` makes it do so.
"""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchmarks.peers.peer import Kind, Peer, Variant
from tests.compat.apache_kafka import ApacheKafka
from tests.compat.tools import java

JAVA_FLAGS = (
    "-Xms1g",
    "-Xmx1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)
KAFKA = Variant("Kafka", Kind.DEFAULT, "Apache Kafka as it comes: acknowledges from the page cache")
SYNCED = Variant(
    "Kafka synced",
    Kind.SYNCED,
    "Apache Kafka with `flush.messages=1`: syncs each batch before it acknowledges",
    {"flush.messages": "1"},
)


def _make(directory: Path) -> ApacheKafka:
    return ApacheKafka(directory, java_flags=JAVA_FLAGS)


def _versions() -> Mapping[str, str]:
    kafka = subprocess.check_output(java("kafka.Kafka", "--version"), text=True)
    java_says = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    found = re.search(r'version "([^"]+)"', java_says.stderr)
    return {"Apache Kafka": kafka.split()[0], "Java": found[1] if found else "unknown"}


APACHE = Peer("Apache Kafka", _make, _versions, (KAFKA, SYNCED))
