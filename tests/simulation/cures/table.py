"""The table of `--without-each`: for each cure the seed that finds its defect, and how small its
plan becomes.
"""

import multiprocessing
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.simulation.cures.cure import Cure, without
from tests.simulation.draw import draw
from tests.simulation.plan import Plan
from tests.simulation.shrink import shrink
from tests.simulation.world import World

_CHUNK = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """`count`: seeds that were run until this one found it."""

    seed: int
    count: int
    failure: str
    plan: Plan

    def __str__(self) -> str:
        plan = self.plan
        sizes = f"{len(plan.steps)} / {len(plan.faults)} / {len(plan.crashes)}"
        return f"{self.count} | {self.seed} | {sizes} | {self.failure.splitlines()[0][:90]}"


HEADING = (
    "| cure taken back | seeds until found | seed | steps / faults / crashes, shrunk | failure |\n"
    "| --- | --- | --- | --- | --- |"
)


def rows(cures: Iterable[Cure], seeds: range, processes: int) -> Iterator[tuple[str, bool]]:
    """A row for each cure, and whether it was found."""
    for cure in cures:
        finding = search(cure, seeds, processes)
        text = str(finding) if finding else f"none of {len(seeds)} | | |"
        yield f"| {cure.name} | {text} |", finding is not None


def search(cure: Cure, seeds: range, processes: int) -> Finding | None:
    """The first finding, its plan made as small as it gets."""
    found = _first(cure, seeds, processes)
    if found is None:
        return None
    count, seed, failure = found
    with without(cure):
        return Finding(seed, count, failure, shrink(draw(seed), failure))


def _first(cure: Cure, seeds: range, processes: int) -> tuple[int, int, str] | None:
    with without(cure):
        # Its processes are forked here, and stay without the cure.
        pool = multiprocessing.get_context("fork").Pool(processes)
    with pool:
        for count, (seed, failure) in enumerate(pool.imap(_run, seeds, _CHUNK), start=1):
            is_meant = failure is not None and re.search(cure.shows, failure)
            if failure and is_meant and World(draw(seed)).run() is None:
                return count, seed, failure
    return None


def _run(seed: int) -> tuple[int, str | None]:
    return seed, World(draw(seed)).run()
