"""The nine foreign clients, all driven the same way: one process per action, JSON lines as the
answer.

The contract is in clients/contract.py. A program that fails raises ClientError with what it said
on stderr. Above: cells.py, chaos.py. Below: tools.py, which sets up what is not a Python package.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from tests.compat import tools
from tests.compat.tools import Tool

Line = dict[str, Any]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMEOUT_S = 60.0


class ClientError(Exception):
    """A client program ended with an error; the message has its last words."""


@dataclass(frozen=True, slots=True)
class ForeignClient:
    """One client program. `administers` is false for kcat alone: it has no admin commands."""

    name: str
    tool: Callable[[], Tool]
    administers: bool = True

    def run(self, bootstrap: str, action: str, **arguments: Any) -> list[Line]:
        """Run one action to its end and return its lines."""
        finished = subprocess.run(
            self._command(bootstrap, action, arguments),
            env=self.tool().full_environment(),
            cwd=tools.ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if finished.returncode != 0:
            raise ClientError(f"{self.name} {action}: {finished.stderr[-3000:]}")
        return [json.loads(line) for line in finished.stdout.splitlines()]

    def spawn(
        self, bootstrap: str, action: str, arguments: Line, stdout: IO[bytes], stderr: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start an action that goes on until it is told to stop."""
        return subprocess.Popen(
            self._command(bootstrap, action, arguments),
            env=self.tool().full_environment(),
            cwd=tools.ROOT,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )

    def _command(self, bootstrap: str, action: str, arguments: Line) -> list[str]:
        return [*self.tool().command, bootstrap, action, json.dumps(arguments)]


def _python(module: str) -> Callable[[], Tool]:
    return lambda: Tool((sys.executable, "-m", f"tests.compat.clients.{module}"))


def _kcat() -> Tool:
    tools.kcat()
    return _python("kcat_client")()


CONFLUENT = ForeignClient("confluent-kafka", _python("confluent_client"))
KAFKA_PYTHON = ForeignClient("kafka-python", _python("kafka_python_client"))
AIOKAFKA = ForeignClient("aiokafka", _python("aiokafka_client"))
KCAT = ForeignClient("kcat", _kcat, administers=False)
JAVA = ForeignClient("java", tools.java_client)
FRANZ_GO = ForeignClient("franz-go", tools.go_client)
SARAMA = ForeignClient("sarama", tools.sarama_client)
KAFKA_GO = ForeignClient("kafka-go", tools.kafka_go_client)
KAFKAJS = ForeignClient("kafkajs", tools.node_client)

PYTHON_CLIENTS = (CONFLUENT, KAFKA_PYTHON, AIOKAFKA)
ALL_CLIENTS = (*PYTHON_CLIENTS, KCAT, JAVA, FRANZ_GO, SARAMA, KAFKA_GO, KAFKAJS)
