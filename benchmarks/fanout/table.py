"""A report as tables, in Markdown, which a terminal shows well enough: one line per variant."""

from collections.abc import Iterable, Iterator, Sequence

from benchmarks.fanout.bars import REFERENCES
from benchmarks.fanout.report import Report
from benchmarks.fanout.stall import outcomes
from benchmarks.table import number

COMPARED = ("cpu", "cpu_user", "cpu_kernel", "cpu_bridge")
MEMORY = ("memory", "memory_loaded")
TIMES = ("p50", "p99", "p99.9", "max")
COMPARE_HEADS = (
    "",
    "CPU-µs per message",
    "user",
    "kernel",
    "of it the bridge",
    *(f"× {name}" for name, _ in REFERENCES),
    "KB per connection",
    "after the load",
    "p50 ms",
    "p99",
    "p99.9",
    "max",
    "of a core",
    "broker CPU-µs",
)
GROWTH_HEADS = (
    "connections",
    "workers",
    "CPU-µs per message",
    "user",
    "kernel",
    "of a core",
    "KB per connection",
    "kernel's KB, both ends",
    "p50 ms",
    "p99",
    "p99.9",
    "max",
    "broker CPU-µs",
)
LATENCY_HEADS = ("whose", "constant", "p50 ms", "p99 ms", "p99.9 ms", "CPU-µs per message")
STALL_HEADS = (
    "policy",
    "p99 without, ms",
    "p99 with, ms",
    "at most, ms",
    "memory grown by, MB",
    "it got",
    "was told it missed",
    "of all",
    "closed",
    "",
)


def markdown(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [list(line) for line in (heads, *lines)]
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(heads))]
    shown = [_row(row, widths) for row in rows]
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join((shown[0], rule, *shown[1:]))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def compare(report: Report) -> str:
    return markdown(COMPARE_HEADS, _compared(report))


def _compared(report: Report) -> Iterator[list[str]]:
    for variant in report.variants("compare"):
        values = {
            name: report.value("compare", variant, name)
            for name in (*COMPARED, *MEMORY, *TIMES, "core", "cpu_broker")
        }
        yield [
            variant,
            *(number(values[name]) for name in COMPARED),
            *(number(report.ratio("compare", variant, "cpu", name)) for name, _ in REFERENCES),
            *(number(values[name]) for name in (*MEMORY, *TIMES)),
            percent(values["core"]),
            number(values["cpu_broker"]),
        ]


def growth(report: Report) -> str:
    return markdown(GROWTH_HEADS, _grown(report))


def _grown(report: Report) -> Iterator[list[str]]:
    for variant in report.variants("growth"):
        for size in report.sizes("growth", variant):
            values = {
                name: report.value("growth", variant, name, size)
                for name in (*COMPARED, *TIMES, "memory", "memory_kernel", "core", "cpu_broker")
            }
            yield [
                f"{size:,}",
                variant.split()[0],
                *(number(values[name]) for name in ("cpu", "cpu_user", "cpu_kernel")),
                percent(values["core"]),
                *(number(values[name]) for name in ("memory", "memory_kernel", *TIMES)),
                number(values["cpu_broker"]),
            ]


def latency(report: Report) -> str:
    return markdown(LATENCY_HEADS, _latencies(report))


def _latencies(report: Report) -> Iterator[list[str]]:
    for variant in report.variants("latency"):
        part, _, name = variant.partition(": ")
        figures = ("p50", "p99", "p99.9", "cpu")
        yield [part, name, *(number(report.value("latency", variant, each)) for each in figures)]


def stall(report: Report) -> str:
    return markdown(STALL_HEADS, _stalled(report))


def _stalled(report: Report) -> Iterator[list[str]]:
    for each in outcomes(report):
        yield [
            each.policy,
            number(each.without_ms),
            number(each.with_ms),
            number(each.limit_ms),
            number(each.memory_mb),
            f"{each.delivered:,.0f}",
            f"{each.missed:,.0f}",
            f"{each.accounted:.2%}",
            "yes" if each.closed else "no",
            "ok" if each.holds else "MISSED",
        ]


def as_text(report: Report) -> str:
    shown = {"compare": compare, "growth": growth, "stall": stall, "latency": latency}
    return "\n\n".join(f"{name}\n{form(report)}" for name, form in shown.items() if report.of(name))
