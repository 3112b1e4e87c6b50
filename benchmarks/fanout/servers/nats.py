"""NATS over WebSocket: nats-server from PyPI, and a bridge that publishes each record to it.

The subject is `<topic>.<key>`. Its defaults, but for the port of the WebSockets.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fanout import clients
from benchmarks.fanout.running import running
from benchmarks.fanout.servers.reachable import await_port
from benchmarks.fanout.servers.server import Served, Setting, Variant
from tests.broker_process import free_port

BINARY = Path(sys.executable).with_name("nats-server")
BRIDGE = "benchmarks.fanout.servers.bridge"
CONFIG = """\
listen: "127.0.0.1:{port}"
websocket {{ listen: "127.0.0.1:{web}", no_tls: true }}
"""


@contextmanager
def serve(setting: Setting) -> Iterator[Served]:
    port, web = free_port(), free_port()
    config = setting.directory / "nats.conf"
    config.write_text(CONFIG.format(port=port, web=web))
    bridge = [sys.executable, "-m", BRIDGE, "nats", setting.bootstrap, setting.topic, str(port)]
    with running("nats", [BINARY, "-c", config], setting.directory) as server:
        await_port(server, port)
        await_port(server, web)
        with running("bridge", bridge, setting.directory) as feeding:
            feeding.expect("ready", 60)
            yield Served(web, {"server": server.pid, "bridge": feeding.pid})


def versions() -> Mapping[str, str]:
    said = subprocess.check_output([str(BINARY), "--version"], text=True)
    return {"nats-server": said.split()[-1]}


NATS = Variant(
    "NATS",
    "nats-server, WebSocket; a bridge on confluent-kafka publishes to it",
    serve,
    clients.nats,
)
