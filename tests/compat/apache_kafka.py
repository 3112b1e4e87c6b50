"""Apache Kafka itself on one node (KRaft): the original, to hold tests against and to race with.

Same shape as tests/broker_process.py's BrokerProcess: `bootstrap`, `data_dir`, `pid`, `start`,
`stop`, `kill`. The data directory is formatted at the first start; `settings` are lines of
server.properties. Listeners beside the plain one are named by their security protocol and have an
address each. What the process says goes to `server.out` beside the data. Below: tools.py,
which fetches the jars.
"""

import base64
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from tests.broker_process import free_port
from tests.compat import tools

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
ONE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class ApacheKafka:
    """One Kafka process; it is not running until `start`."""

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, str] | None = None,
        java_flags: Sequence[str] = tools.SMALL_JVM,
        more_listeners: Mapping[str, str] | None = None,
        format_flags: Sequence[str] = (),
    ) -> None:
        port, controller_port = free_port(), free_port()
        node_id = (settings or {}).get("node.id", ONE_NODE["node.id"])
        self.bootstrap = f"127.0.0.1:{port}"
        self.data_dir = data_dir
        self._java_flags = java_flags
        self._format_flags = format_flags
        self._home = data_dir.parent / f"{data_dir.name}-kafka"
        self._process: subprocess.Popen[bytes] | None = None
        controller = f"127.0.0.1:{controller_port}"
        listeners = {"PLAINTEXT": self.bootstrap, **(more_listeners or {})}
        advertised = ",".join(f"{name}://{address}" for name, address in listeners.items())
        protocols = [f"{name}:{name}" for name in listeners]
        self._properties = {
            **ONE_NODE,
            "listener.security.protocol.map": ",".join([*protocols, "CONTROLLER:PLAINTEXT"]),
            "listeners": f"{advertised},CONTROLLER://{controller}",
            "advertised.listeners": advertised,
            "controller.quorum.voters": f"{node_id}@{controller}",
            "log.dirs": str(data_dir),
            **(settings or {}),
        }

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        server_properties = self._home / "server.properties"
        if not server_properties.exists():
            self._format(server_properties)
        with (self._home / "server.out").open("ab") as output:
            command = tools.java("kafka.Kafka", str(server_properties), flags=self._java_flags)
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        self._await_ready()

    def stop(self) -> None:
        """SIGTERM and wait; nothing happens to one that has ended, or has not been started."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def kill(self) -> None:
        self._running().kill()
        self._running().wait(STOP_TIMEOUT_S)

    def _format(self, server_properties: Path) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in self._properties.items()]
        server_properties.write_text("".join(lines))
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # An id that starts with a dash would be taken for a flag.
        command = ["format", f"--cluster-id={cluster_id}", "--config", str(server_properties)]
        command += self._format_flags
        subprocess.run(
            tools.java("kafka.tools.StorageTool", *command), check=True, capture_output=True
        )

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._running().poll() is not None:
                break
            if self._answers():
                return
        said = (self._home / "server.out").read_text()[-2000:]
        raise RuntimeError(f"Apache Kafka did not start: {said}")

    def _answers(self) -> bool:
        host, port = self.bootstrap.split(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
            return bool(admin.list_topics(timeout=5).brokers)
        except (OSError, KafkaException):
            time.sleep(0.01)
            return False

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("Apache Kafka has not been started")
        return self._process
