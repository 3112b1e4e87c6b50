"""What was measured, turn by turn, and all of it as JSON.

A sample is one turn of one variant in one scenario, with its figures by name. Medians are taken
over the turns of the same scenario, variant and number of connections. Nothing here measures or
prints; table.py and page.py show a `Report`, and one that was written reads back as the same.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median

from benchmarks.fanout.drainer import percentile
from benchmarks.fanout.load import Rounds
from benchmarks.fanout.turn import Turn

PRODUCER_LATE_MS = 50.0
"""Beyond this the times of a turn say more about the machine than about the server."""


@dataclass(frozen=True, slots=True)
class Sample:
    """`fault`: why the figures are of no full delivery; None: each message arrived once."""

    scenario: str
    variant: str
    connections: int
    figures: Mapping[str, float]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One run. `skipped`: why a variant was left out, by its name."""

    taken: str
    command: str
    versions: Mapping[str, str]
    skipped: Mapping[str, str]
    seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)

    def of(self, scenario: str, variant: str | None = None) -> list[Sample]:
        return [
            sample
            for sample in self.samples
            if sample.scenario == scenario and variant in (None, sample.variant)
        ]

    def variants(self, scenario: str) -> list[str]:
        return list(dict.fromkeys(sample.variant for sample in self.of(scenario)))

    def sizes(self, scenario: str, variant: str) -> list[int]:
        return sorted({sample.connections for sample in self.of(scenario, variant)})

    def value(
        self, scenario: str, variant: str, figure: str, connections: int | None = None
    ) -> float | None:
        """The median of the turns; None if there were none."""
        values = [
            sample.figures[figure]
            for sample in self.of(scenario, variant)
            if figure in sample.figures and connections in (None, sample.connections)
        ]
        return median(values) if values else None

    def ratio(self, scenario: str, variant: str, figure: str, reference: str) -> float | None:
        value = self.value(scenario, variant, figure)
        base = self.value(scenario, reference, figure)
        return value / base if value is not None and base else None

    def faults(self) -> list[str]:
        """Turns in which not each message arrived once."""
        return [
            f"{sample.scenario}, {sample.variant}, {sample.connections:,} connections: "
            f"{sample.fault}"
            for sample in self.samples
            if sample.fault
        ]

    def disturbed(self) -> list[str]:
        """Turns in which the producer itself did not get the machine in time."""
        return [
            f"{sample.scenario}, {sample.variant}, {sample.connections:,} connections: "
            f"the producer was {sample.figures['producer_late_ms']:.0f} ms late"
            for sample in self.samples
            if sample.figures.get("producer_late_ms", 0.0) > PRODUCER_LATE_MS
        ]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Report":
        said = json.loads(text)
        return cls(**{**said, "samples": [Sample(**sample) for sample in said["samples"]]})


def sample(scenario: str, variant: str, turn: Turn, rounds: Rounds) -> Sample:
    return Sample(scenario, variant, turn.connections, figures(turn, rounds), turn.drained.fault)


def figures(turn: Turn, rounds: Rounds) -> dict[str, float]:
    """CPU in microseconds per delivered message, memory in KB per connection, times in ms."""
    delivered = max(1, turn.drained.messages)
    parts = {f"cpu_{part}": _per(each.total_s, delivered) for part, each in turn.cpu.items()}
    return {
        "delivered": turn.drained.messages,
        "per_s": turn.drained.messages / turn.seconds,
        "cpu": _per(turn.server_cpu_s, delivered),
        "cpu_user": _per(sum(each.user_s for each in turn.cpu.values()), delivered),
        "cpu_kernel": _per(sum(each.kernel_s for each in turn.cpu.values()), delivered),
        **parts,
        "cpu_broker": _per(turn.broker_cpu.total_s, delivered),
        "core": turn.core_share,
        "memory": turn.connected.pss_kb / turn.connections,
        "memory_rss": turn.connected.rss_kb / turn.connections,
        "memory_loaded": turn.loaded.pss_kb / turn.connections,
        "memory_kernel": turn.kernel_kb / turn.connections,
        "connect_s": turn.connect_s,
        "producer_late_ms": turn.sent.late_ms,
        **latencies(turn.drained.latencies_ms(rounds.first, rounds.last)),
    }


def latencies(ordered_ms: list[float]) -> dict[str, float]:
    if not ordered_ms:
        return {}
    named = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
    return {name: percentile(ordered_ms, percent) for name, percent in named.items()}


def _per(seconds: float, messages: int) -> float:
    return seconds * 1e6 / messages
