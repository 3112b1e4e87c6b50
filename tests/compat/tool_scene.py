"""The rows of tool_rows.py played on one broker: what each tool said, without addresses, ids, times
and stack traces, so that the answers of two brokers can be laid beside each other.

Before the first row a transaction is left open, for kafka-transactions to find.
"""

import re
import shlex
import subprocess
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from confluent_kafka import Producer
from tests import foreign
from tests.compat import tools
from tests.compat.kafka_tools import MAIN_CLASSES, Outcome, ToolJvm
from tests.compat.peer import Peer
from tests.compat.tool_rows import FILES, ROWS, ROWS_OF_FILES, Row

ALONE_TIMEOUT_S = 15.0
STACK = re.compile(r"^(\s+at |\s+\.\.\. |Caused by: |\s+Suppressed: ).*\n?", re.MULTILINE)
TIMES = re.compile(r"\b\d{13}\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[:,]\d{3}")
ID = re.compile(r"(?<![\w-])(?=[\w-]*[a-z])[\w-]{22}(?![\w-])")
FIGURES = re.compile(r"-?\d+(\.\d+)? *")
PADDING = re.compile(r" +\t")
SERVER_PROPERTIES = """process.roles=broker,controller
node.id=0
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
controller.quorum.voters=0@localhost:9093
log.dirs={data}
"""


def play(peer: Peer, jvm: ToolJvm, directory: Path) -> list[Outcome]:
    """Start the broker, play the rows, stop it, play those of its files: an outcome for each."""
    _write_files(directory, peer.data_dir)
    peer.start()
    try:
        held = _open_transaction(peer.bootstrap, "held")
        outcomes = [_run(row, peer, jvm, directory) for row in ROWS]
        del held
    finally:
        peer.stop()
    return outcomes + [_run(row, peer, jvm, directory) for row in ROWS_OF_FILES]


def _write_files(directory: Path, data_dir: Path) -> None:
    contents = {**FILES, "server.properties": SERVER_PROPERTIES.format(data=data_dir)}
    for name, content in contents.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def _open_transaction(bootstrap: str, name: str) -> Producer:
    """A topic, and a transaction of the same name that has written to it and does not end."""
    foreign.create_topic(bootstrap, name)
    settings = {"transactional.id": name, "transaction.timeout.ms": 600_000, "log_level": 0}
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    producer.init_transactions(foreign.TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(name, "held")
    producer.flush(foreign.TIMEOUT_S)
    return producer


def _run(row: Row, peer: Peer, jvm: ToolJvm, directory: Path) -> Outcome:
    places = {"BROKER": peer.bootstrap, "DATA": str(peer.data_dir), "FILES": str(directory)}
    words = [_filled(word, places) for word in shlex.split(row.words)]
    outcome = _run_alone(row, words) if row.alone else jvm.run(row.tool, *words, typed=row.typed)
    known = {value: name for name, value in places.items()}
    known[peer.bootstrap.split(":")[1]] = "PORT"
    return Outcome(outcome.code, *(_plain(row, text, known) for text in (outcome.out, outcome.err)))


def _filled(text: str, replacements: Mapping[str, str]) -> str:
    for old, new in replacements.items():
        text = text.replace(old, new)
    return text


def _run_alone(row: Row, words: list[str]) -> Outcome:
    """In a JVM of its own, which is ended when the tool has said what is waited for."""
    command = tools.java(MAIN_CLASSES[row.tool], *words, flags=("-Xmx128m", "-XX:+UseSerialGC"))
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    deadline = threading.Timer(ALONE_TIMEOUT_S, process.kill)
    deadline.start()
    said = list(_lines(process, row.until))
    if row.until:
        process.kill()
    process.communicate()
    deadline.cancel()
    return Outcome(0 if row.until else process.returncode, "".join(said), "")


def _lines(process: "subprocess.Popen[str]", until: str) -> Iterable[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line
        if until and until in line:
            return


def _plain(row: Row, text: str, known: Mapping[str, str]) -> str:
    text = ID.sub("ID", TIMES.sub("TIME", STACK.sub("", _filled(text, known))))
    # A column is as wide as its widest figure, and ours have other figures.
    return FIGURES.sub("N ", PADDING.sub("\t", text)) if row.blurred else text
