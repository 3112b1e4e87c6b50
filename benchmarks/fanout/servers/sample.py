"""The sample's pattern as variants: as the Quart app that it is, and on the leaner `websockets`.

One process each, which reads Kafka itself.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fanout import clients
from benchmarks.fanout.running import running
from benchmarks.fanout.servers.packages import run, unpacked
from benchmarks.fanout.servers.reachable import await_port
from benchmarks.fanout.servers.server import Serve, Served, Setting, Variant
from tests.broker_process import free_port

PROGRAM = "benchmarks.fanout.servers.sample_server"
PINNED = ("quart==0.20.0", "hypercorn==0.18.0", "wsproto==1.3.2")


def installed() -> Path:
    """Where Quart is: fetched at the first call."""

    def fetch(directory: Path) -> None:
        run(
            [sys.executable, "-m", "pip", "install", "--target", str(directory), *PINNED], directory
        )

    return unpacked("quart", " ".join(PINNED), fetch)


def _serve(kind: str) -> Serve:
    @contextmanager
    def serve(setting: Setting) -> Iterator[Served]:
        port = free_port()
        command = [sys.executable, "-m", PROGRAM, kind, setting.bootstrap, setting.topic, str(port)]
        path = {"PYTHONPATH": str(installed())} if kind == "quart" else {}
        with running(f"sample on {kind}", command, setting.directory, path) as process:
            process.expect("ready", 60)
            await_port(process, port)
            yield Served(port, {"server": process.pid})

    return serve


def versions() -> Mapping[str, str]:
    return {name: version for name, _, version in (each.partition("==") for each in PINNED)}


SAMPLE = Variant(
    "sample",
    "the sample's pattern as the Quart app that it is: a queue and a task for each client, two "
    "frames for each message; hypercorn, aiokafka",
    _serve("quart"),
    clients.sample,
    settle_s=1.0,
)
LEAN_SAMPLE = Variant(
    "lean sample",
    "the same pattern on the library `websockets` instead of Quart",
    _serve("websockets"),
    clients.sample,
    settle_s=1.0,
)
