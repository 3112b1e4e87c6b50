"""Ours: `kafkaesque fanout` as a user runs it, by each of its four protocols.

Its defaults, but that it lets in as many clients as may be open, and that it asks none of them for
a sign of life: the drainer has no ear for that.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

from benchmarks.fanout import clients
from benchmarks.fanout.running import running
from benchmarks.fanout.servers.server import Greet, Served, Setting, Variant
from tests.broker_process import COMMAND, free_port

OPTIONS = (
    *("--max-connections", "100000", "--ping-interval", "600", "--drain", "0"),
    *("--log-level", "warning"),
)
PROTOCOLS: Mapping[str, tuple[Greet, str]] = {
    "ws": (clients.sample, "the sample's protocol, WebSocket: two frames for each message"),
    "v1": (clients.v1, "kafkaesque.v1, WebSocket: one frame with topic, offset, key, value"),
    "sse": (clients.sse, "Server-Sent Events: JSON, with the place to resume from"),
    "tcp": (clients.tcp, "kafkaesque.v1 over plain TCP"),
}


def ours(protocol: str, workers: int = 1, name: str | None = None, *options: str) -> Variant:
    greet, meaning = PROTOCOLS[protocol]
    told = (*OPTIONS, "--workers", str(workers), *options)

    @contextmanager
    def serve(setting: Setting) -> Iterator[Served]:
        web, tcp = free_port(), free_port()
        ports = ("--port", str(web), "--tcp-port", str(tcp))
        command = [str(COMMAND), "fanout", "--brokers", setting.bootstrap, *ports, *told]
        with running("fanout", command, setting.directory) as process:
            process.expect("stop with", 60)
            yield Served(tcp if protocol == "tcp" else web, {"server": process.pid})

    # The sample's protocol has no acknowledgement, and SSE answers before it has a place.
    settle_s = 1.0 if protocol in ("ws", "sse") else 0.0
    return Variant(name or f"ours {protocol}", meaning, serve, greet, settle_s)


def versions() -> Mapping[str, str]:
    return {"Kafkaesque": version("kafkaesque-broker"), "uvloop": version("uvloop")}
