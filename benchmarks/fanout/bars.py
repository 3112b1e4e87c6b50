"""The bars: what our variants must show at 10,000 connections, beside others in the same run."""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.fanout.report import Report

CONNECTIONS = 10_000
MEMORY_KB = 4.0
P99_MS = 20.0
CORE = 0.7
REFERENCES = (("sample", 0.2), ("lean sample", 0.2), ("NATS", 1.0))
"""At most so much of another's CPU."""


class Verdict(NamedTuple):
    """`bar` says what was asked for, `shown` what came out."""

    variant: str
    bar: str
    shown: str
    holds: bool

    def __str__(self) -> str:
        return f"{self.variant}: {self.bar}: {self.shown} {'ok' if self.holds else 'MISSED'}"


def verdicts(report: Report, scenario: str = "compare") -> Iterator[Verdict]:
    """A bar whose figures were not taken, or at another size, says nothing."""
    for variant in report.variants(scenario):
        if variant.startswith("ours") and report.sizes(scenario, variant) == [CONNECTIONS]:
            yield from _of(report, scenario, variant)


def _of(report: Report, scenario: str, variant: str) -> Iterator[Verdict]:
    for reference, limit in REFERENCES:
        ratio = report.ratio(scenario, variant, "cpu", reference)
        if ratio is not None:
            bar = f"CPU ≤{limit:g}× {reference}"
            yield Verdict(variant, bar, f"{ratio:.2f}×", ratio <= limit)
    memory = report.value(scenario, variant, "memory")
    if memory is not None:
        bar = f"≤{MEMORY_KB:g} KB per connection"
        yield Verdict(variant, bar, f"{memory:.1f} KB", memory <= MEMORY_KB)
    p99, core = (report.value(scenario, variant, name) for name in ("p99", "core"))
    if p99 is not None and core is not None:
        bar = f"p99 <{P99_MS:g} ms under {CORE:.0%} of a core"
        shown = f"{p99:.1f} ms at {core:.0%}"
        yield Verdict(variant, bar, shown, p99 < P99_MS and core < CORE)
    faults = [each.fault for each in report.of(scenario, variant) if each.fault]
    yield Verdict(variant, "each message once", faults[0] if faults else "yes", not faults)
