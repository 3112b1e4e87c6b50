"""From what was measured to a million connections: plain arithmetic, every step written down.

What a worker does has two parts. `read` is done once per record and worker: fetch it, find who
wants it. `send` is done once per delivered message: almost all of it the kernel's send. Two workers
read each record twice and send it once, so that what two cost more than one is `read`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.fanout.report import Report

CONNECTIONS = 1_000_000
CORE = 0.7
"""How much of a core a worker may use."""
SIZE = 10_000
WIRE_BYTES = 512 + 60 + 66
"""The value, kafkaesque.v1's frame around it, and TCP, IP and Ethernet around that."""


@dataclass(frozen=True, slots=True)
class Costs:
    """In microseconds and KB."""

    one_us: float
    two_us: float
    memory_kb: float
    kernel_kb: float

    @property
    def read_us(self) -> float:
        return max(0.0, self.two_us - self.one_us)

    @property
    def send_us(self) -> float:
        return self.one_us - self.read_us

    def workers(self, records_per_s: float, messages_per_s: float) -> float | None:
        """How many share the sending, if each reads all; None: reading alone is too much."""
        free = CORE - records_per_s * self.read_us / 1e6
        return messages_per_s * self.send_us / 1e6 / free if free > 0 else None

    @property
    def memory_gb(self) -> float:
        return CONNECTIONS * (self.memory_kb + self.kernel_kb) / 1e6


def costs(report: Report) -> Costs | None:
    """At 10,000 connections, or the most that there were below."""
    sizes = [size for size in report.sizes("growth", "2 workers") if size <= SIZE]
    if not sizes:
        return None
    one, two, memory, kernel = (
        report.value("growth", variant, figure, sizes[-1])
        for variant, figure in (
            ("1 worker", "cpu"),
            ("2 workers", "cpu"),
            ("1 worker", "memory"),
            ("1 worker", "memory_kernel"),
        )
    )
    if one is None or two is None or memory is None or kernel is None:
        return None
    return Costs(one, two, memory, kernel / 2)


def lines(found: Costs) -> Iterator[str]:
    yield (
        f"One worker took {found.one_us:.1f} CPU-µs per delivered message and two took "
        f"{found.two_us:.1f}, because each reads every record: reading costs "
        f"{found.two_us:.1f} − {found.one_us:.1f} = {found.read_us:.1f} µs per record and worker, "
        f"sending {found.one_us:.1f} − {found.read_us:.1f} = {found.send_us:.1f} µs per message. "
        "That was at 10,000 records a second; with more a fetch brings more, and each is cheaper. "
        f"A worker may use {CORE:.0%} of a core."
    )
    yield ""
    yield from _case(found, "10,000 keys at 1 Hz, a hundred clients for each", 10_000)
    yield from _case(found, "A million keys at 1 Hz, a client for each", CONNECTIONS)
    yield (
        f"- Memory: 1,000,000 × ({found.memory_kb:.1f} KB of ours + {found.kernel_kb:.1f} KB of "
        f"the kernel's for our end) = {found.memory_gb:.1f} GB."
    )
    gigabits = CONNECTIONS * WIRE_BYTES * 8 / 1e9
    yield (
        f"- Network: 1,000,000 × {WIRE_BYTES} bytes × 8 = {gigabits:.1f} Gbit/s, before "
        "acknowledgements."
    )
    yield (
        "- Not in this: the network card's interrupts, which loopback does not have; TLS; and the "
        "limit of open files, which has to be above connections ÷ workers. None of it was run: "
        "two cores are not a machine for a million."
    )


def _case(found: Costs, name: str, records_per_s: int) -> Iterator[str]:
    reading = records_per_s * found.read_us / 1e6
    sending = CONNECTIONS * found.send_us / 1e6
    text = (
        f"- {name}: sending 1,000,000 × {found.send_us:.1f} µs = {sending:.1f} cores; reading "
        f"{records_per_s:,} × {found.read_us:.1f} µs = {reading:.2f} cores in each worker. "
    )
    workers = found.workers(records_per_s, CONNECTIONS)
    if workers is None:
        yield text + (
            f"That is more than {CORE} of a core before anything is sent: not with workers that "
            "read every record. The keys have to be divided over topics, or partitions that a "
            "worker's clients do not want left out."
        )
    else:
        yield text + (
            f"Workers: {sending:.1f} ÷ ({CORE} − {reading:.2f}) = {workers:.0f}, one per core."
        )
