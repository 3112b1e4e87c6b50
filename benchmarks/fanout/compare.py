"""Scenario `compare`: all servers in turns, round after round, under the same load."""

from collections.abc import Callable, Sequence

from benchmarks.fanout.report import Report, sample
from benchmarks.fanout.servers.server import Variant
from benchmarks.fanout.turn import Ground, Shape, take

Say = Callable[[str], None]


def run(
    ground: Ground,
    report: Report,
    say: Say,
    variants: Sequence[Variant],
    shape: Shape,
    rounds: int,
) -> None:
    for number in range(1, rounds + 1):
        for variant in variants:
            say(f"compare {number}: {variant.name}, {shape.connections:,} connections")
            turn = take(ground, variant, shape)
            report.add(sample("compare", variant.name, turn, shape.rounds))
