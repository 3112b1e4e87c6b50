"""Runs drain.c: compiled once a run, one process for as many connections as may be open in it.

Without a C compiler slow_drain.py takes its place: the same script, the same answers, at a higher
cost on the client's side, which the report says. Above: turn.py. Below: clients.py, running.py.
"""

import json
import shutil
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fanout.clients import Scripted, script
from benchmarks.fanout.load import Rounds
from benchmarks.fanout.running import Running, running

PER_PROCESS = 15_000
"""The limit of open files may be 20,000 a process."""
CONNECT_S = 120.0
_SOURCE = Path(__file__).with_name("drain.c")


@dataclass(frozen=True, slots=True)
class Drained:
    """What all clients got. `samples`: pairs of a round and microseconds, one after the other."""

    connections: int
    messages: int
    duplicates: int
    missing: int
    strays: int
    closed: int
    cpu_s: float
    samples: "array[int]"

    @property
    def fault(self) -> str | None:
        """Why this is not each message once for each client; None: it is."""
        faults = {
            "missing": self.missing,
            "twice": self.duplicates,
            "of others' keys": self.strays,
            "connections closed": self.closed,
        }
        found = [f"{number} {name}" for name, number in faults.items() if number]
        return f"of {self.messages + self.missing} messages: {', '.join(found)}" if found else None

    def latencies_ms(self, first: int, last: int) -> list[float]:
        """Of the messages of some rounds, in order of size."""
        rounds, times = self.samples[0::2], self.samples[1::2]
        return sorted(
            time / 1000
            for number, time in zip(rounds, times, strict=True)
            if first <= number <= last
        )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value that so many percent of the ordered values are not above."""
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def command(directory: Path) -> list[str]:
    """How to start a drainer."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        print("no C compiler: the clients are Python, and cost more", file=sys.stderr)
        return [sys.executable, "-m", "benchmarks.fanout.slow_drain"]
    binary = directory / "drain"
    if not binary.exists():
        subprocess.run([compiler, "-O2", "-o", str(binary), str(_SOURCE)], check=True)
    return [str(binary)]


class Drainers:
    """Processes that are connected, until they have got all."""

    def __init__(self, processes: Sequence[Running], samples: Sequence[Path]) -> None:
        self._processes = processes
        self._samples = samples

    def finish(self, within_s: float) -> Drained:
        """Wait for the last message, or say after a while that it is enough."""
        reports = []
        for process in self._processes:
            line = process.line(within_s)
            if line is None:
                process.hang_up()
                line = process.expect("{", 30)
            reports.append(json.loads(line))
        return merged(reports, [path.read_bytes() for path in self._samples])


def merged(reports: Sequence[dict[str, float]], samples: Sequence[bytes]) -> Drained:
    pairs = array("I")
    for data in samples:
        pairs.frombytes(data)
    sums = {name: sum(report[name] for report in reports) for name in reports[0]}
    return Drained(
        connections=int(sums["connections"]),
        messages=int(sums["messages"]),
        duplicates=int(sums["duplicates"]),
        missing=int(sums["missing"]),
        strays=int(sums["strays"]),
        closed=int(sums["closed"]),
        cpu_s=sums["cpu_s"],
        samples=pairs,
    )


@contextmanager
def drainers(
    clients: Sequence[Scripted], port: int, rounds: Rounds, directory: Path, program: Sequence[str]
) -> Iterator[Drainers]:
    """Connected and subscribed: that is when the block begins."""
    with ExitStack() as stack:
        processes, outputs = [], []
        shares = -(-len(clients) // PER_PROCESS)
        for number in range(shares):
            told, output = directory / f"script-{number}", directory / f"samples-{number}"
            told.write_bytes(script(clients[number::shares]))
            arguments: list[str | Path] = [
                told,
                str(port),
                str(rounds.first),
                str(rounds.last),
                output,
            ]
            each = running(f"drainer {number}", [*program, *arguments], directory)
            processes.append(stack.enter_context(each))
            outputs.append(output)
        for process in processes:
            process.expect("ready", CONNECT_S)
        yield Drainers(processes, outputs)
