"""Scenario `growth`: ours with more and more connections, by one worker and by two.

Each connection has a key of its own, so that the stream grows with them: 20,000 connections get
20,000 messages a second.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from benchmarks.fanout.report import Report, sample
from benchmarks.fanout.servers.ours import ours
from benchmarks.fanout.turn import Ground, Shape, take

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
WORKERS = (1, 2)
ONE_PROCESS = 19_900
"""As many as one worker can have where a process may have 20,000 open files."""


def variant_name(workers: int) -> str:
    return f"{workers} worker{'s' * (workers > 1)}"


def run(
    ground: Ground,
    report: Report,
    say: Callable[[str], None],
    shape: Shape,
    sizes: Sequence[int] = SIZES,
) -> None:
    for size in sizes:
        for workers in WORKERS:
            count = min(size, ONE_PROCESS) if workers == 1 else size
            say(f"growth: {count:,} connections, {variant_name(workers)}")
            grown = replace(shape, connections=count, load=replace(shape.load, keys=count))
            variant = ours("v1", workers, variant_name(workers))
            turn = take(ground, variant, grown)
            report.add(sample("growth", variant.name, turn, shape.rounds))
