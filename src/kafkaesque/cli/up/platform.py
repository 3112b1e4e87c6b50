"""The parts of the platform: where each listens, and the command that runs it.

Pure. The fan-out has a worker per core that nobody else needs: one is the broker's, one is for all
the others. Above: command.py. Below: processes.py.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kafkaesque.cli.up.ports import IPV4
from kafkaesque.cli.up.processes import Program
from kafkaesque.client.connection import Address

_TAKEN_CORES = 2
_OWN_PAGES = ("--origin", "http://127.0.0.1:*", "--origin", "http://localhost:*")
# Both topics get the same ticks: a stock has one price, and candles are made of the two together.
_SEED = ("--seed", "1")


@dataclass(frozen=True, slots=True)
class Platform:
    """What to run, and where. None: not this part."""

    port: int
    course_port: int
    console_port: int | None
    registry_port: int | None
    gateway_port: int | None
    fanout_port: int | None
    fanout_tcp_port: int | None
    rate: float | None
    data_dir: Path | None
    pipelines_dir: Path | None
    """Where pipelines keep how far they are."""

    @property
    def bootstrap(self) -> str:
        return f"{IPV4}:{self.port}"

    @property
    def fanout_url(self) -> str:
        return f"http://{IPV4}:{self.fanout_port}"

    @property
    def registry_url(self) -> str:
        return f"http://{IPV4}:{self.registry_port}"

    @property
    def ports(self) -> dict[str, int]:
        """Those of the parts that are run, by the option that chooses each."""
        ports = {
            "--port": self.port,
            "--course-port": self.course_port,
            "--console-port": self.console_port,
            "--registry-port": self.registry_port,
            "--gateway-port": self.gateway_port,
            "--fanout-port": self.fanout_port,
            "--fanout-tcp-port": self.fanout_tcp_port,
        }
        return {flag: port for flag, port in ports.items() if port is not None}


def clash(ports: dict[str, int]) -> str | None:
    """Which two options name the same port; None if none do."""
    seen: dict[int, str] = {}
    for flag, port in ports.items():
        if port in seen:
            return f"{seen[port]} and {flag} must differ: both are {port}"
        seen[port] = flag
    return None


def broker(platform: Platform, listen: list[Address]) -> Program:
    """`listen` are its addresses besides the first."""
    data = ("--data-dir", str(platform.data_dir)) if platform.data_dir else ("--memory",)
    more = [part for address in listen for part in ("--listen", _listen(address))]
    args = ("broker", *_on(platform.port), *more, *data)
    return Program("broker", args, "listening on")


def others(platform: Platform) -> Iterator[Program]:
    to_it = ("--brokers", platform.bootstrap)
    schemas: tuple[str, ...] = ()
    if platform.registry_port is not None:
        schemas = ("--registry", platform.registry_url)
        args = ("registry", *to_it, *_on(platform.registry_port))
        yield Program("registry", args, "kafkaesque registry on")
    if platform.console_port is not None:
        fanout = ("--fanout", platform.fanout_url) if platform.fanout_port is not None else ()
        args = ("console", *to_it, *_on(platform.console_port), *fanout, *schemas)
        yield Program("console", args, "kafkaesque console on")
    if platform.gateway_port is not None:
        args = ("gateway", *to_it, *_on(platform.gateway_port), *schemas)
        yield Program("gateway", args, "kafkaesque gateway on")
    if platform.fanout_port is not None:
        tcp = ("--tcp-port", str(platform.fanout_tcp_port))
        # What it finds out at its start is what the others print as well.
        how = ("--workers", str(spare_cores()), *_OWN_PAGES, "--log-level", "warning")
        args = ("fanout", *to_it, *_on(platform.fanout_port), *tcp, *schemas, *how)
        yield Program("fanout", args, "kafkaesque fanout on")
    if platform.rate is not None:
        args = ("demo", "ticks", *to_it, "--rate", str(platform.rate), *_SEED)
        yield Program("ticks", args, "kafkaesque demo sends")
        if schemas:
            yield Program("avro ticks", (*args, "--avro", *schemas), "kafkaesque demo sends")
        if platform.pipelines_dir is not None:
            yield _stocks(platform.pipelines_dir, (*to_it, *schemas))


def _stocks(directory: Path, to_it: tuple[str, ...]) -> Program:
    where = ("--checkpoint", str(directory.absolute() / "stocks"))
    # Candles that move every other second are quick enough to look at, and leave the machine alone.
    how = ("--interval", "2 seconds", "--stay")
    args = ("pipeline", "run", "stocks", *to_it, *where, *how)
    return Program("stocks", args, "kafkaesque pipeline stocks runs")


def spare_cores() -> int:
    """Of those that this process may use; one at least."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # Only Linux tells.
        cores = os.cpu_count() or 1
    return max(1, cores - _TAKEN_CORES)


def _on(port: int) -> tuple[str, ...]:
    return "--host", IPV4, "--port", str(port)


def _listen(address: Address) -> str:
    """Whichever way a client came, it is told the same: one that changes makes it connect anew."""
    return str(address) if address.host == IPV4 else f"{address}={IPV4}:{address.port}"
