"""The bars: what a row must show, as a ratio to Kafka or as a figure of its own.

`BARS` is the list. A bar is about a row's name, in whichever figures have it: on brokers just
started and on warm ones alike. One whose row was not measured in a run says nothing about that run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.report import Row

DURABLE, CACHED = "durable", "caching"
OURS = (DURABLE, CACHED)
KAFKA, SYNCED = "Kafka", "Kafka synced"
PLAIN = "1 KB, 1 partition, 1 producer"
SMALL = "100 B, 100 partitions, 10 producers"


@dataclass(frozen=True, slots=True)
class Bar:
    """`beside`: the limit is on the ratio to that variant; None: on the figure itself."""

    name: str
    unit: str
    variant: str
    at_least: float | None = None
    at_most: float | None = None
    beside: str | None = KAFKA

    def is_about(self, row: Row) -> bool:
        return (row.name, row.unit) == (self.name, self.unit) and self._figure(row) is not None

    def holds(self, row: Row) -> bool:
        figure = self._figure(row)
        if figure is None:
            raise ValueError(f"{row.name} has no {self.variant}")
        low = self.at_least is None or figure >= self.at_least
        return low and (self.at_most is None or figure <= self.at_most)

    def _figure(self, row: Row) -> float | None:
        if self.beside is None:
            return row.value(self.variant)
        return row.ratio(self.variant, self.beside)

    def __str__(self) -> str:
        limit = f"≤{self.at_most:g}" if self.at_least is None else f"≥{self.at_least:g}"
        if self.beside is None:
            return f"{self.variant} {limit}{' ' * (self.unit != '×')}{self.unit}"
        return f"{self.variant} {limit}×" + f" {self.beside}" * (self.beside != KAFKA)


def _ours(name: str, unit: str, **limit: float) -> Iterator[Bar]:
    """The same bar for both of our variants."""
    for variant in OURS:
        yield Bar(name, unit, variant, limit.get("at_least"), limit.get("at_most"))


def _own(name: str, unit: str, **limit: float) -> Iterator[Bar]:
    """A bar on the figure itself, for both of our variants."""
    for variant in OURS:
        yield Bar(name, unit, variant, limit.get("at_least"), limit.get("at_most"), beside=None)


BARS = (
    Bar("cold start", "s", DURABLE, at_most=0.1),
    *_own("memory, idle", "MB", at_most=60),
    *_own("memory, after 10 GB", "MB", at_most=120),
    *_own("produce, GB 10 to GB 1", "×", at_least=0.8),
    *_own("produce request, 1,000 to 10 partitions", "×", at_most=1.5),
    *_own("memory per partition, 1,000 to 100", "×", at_most=1.5),
    Bar(f"produce {PLAIN}", "MB/s", DURABLE, at_least=1.3),
    Bar(f"produce {PLAIN}", "MB/s", CACHED, at_least=2),
    *_ours(f"produce {PLAIN}", "CPU-s/GB", at_most=0.4),
    *_ours(f"consume {PLAIN}", "MB/s", at_least=1),
    *_ours(f"consume {PLAIN}", "CPU-s/GB", at_most=0.75),
    Bar("round trip, p50", "ms", DURABLE, at_most=1.3),
    Bar("round trip, p50", "ms", DURABLE, at_most=0.5, beside=SYNCED),
    Bar("round trip, p50", "ms", CACHED, at_most=0.5),
    Bar("round trip, p99", "ms", DURABLE, at_most=0.6),
    Bar("round trip, p99", "ms", DURABLE, at_most=0.5, beside=SYNCED),
    Bar("round trip, p99", "ms", CACHED, at_most=0.3),
    *_own("acknowledgement, cold reader to alone, p99", "×", at_most=2),
    *_ours(f"produce {SMALL}", "MB/s", at_least=1.3),
    *_ours(f"produce {SMALL}", "CPU-s/GB", at_most=0.4),
    *_ours("transactions, librdkafka", "per s", at_least=1),
    *_ours("transactions, Java", "per s", at_least=1),
    *_own("loop delay at most", "ms", at_most=20),
)


def verdicts(row: Row) -> list[tuple[Bar, bool]]:
    return [(bar, bar.holds(row)) for bar in BARS if bar.is_about(row)]


def tally(rows: Iterable[Row]) -> str:
    """How many bars hold, in all and by figure."""
    figures: dict[str, list[bool]] = {}
    for row in rows:
        for _, held in verdicts(row):
            figures.setdefault(row.figure, []).append(held)
    everything = [held for verdict in figures.values() for held in verdict]
    parts = [f"{name} {sum(each)} of {len(each)}" for name, each in figures.items()]
    count = f"{sum(everything)} of {len(everything)} bars hold"
    return f"{count} ({', '.join(parts)})" if parts else count


def missed(rows: Iterable[Row]) -> list[tuple[Row, Bar]]:
    return [(row, bar) for row in rows for bar, held in verdicts(row) if not held]
