"""Jobs in turns, round after round: rows a second, and the CPU time of everything but the broker.

The order of the jobs is turned round with each round, so that none always follows the same other.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_HUNDREDTHS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one job, a figure for each round."""

    rates: list[float] = field(default_factory=list)
    """Rows a second."""
    costs: list[float] = field(default_factory=list)
    """CPU seconds for a million rows."""

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    @property
    def cost(self) -> float:
        return statistics.median(self.costs)

    def __str__(self) -> str:
        best = max(self.rates) / 1e6
        return (
            f"{self.rate / 1e6:.2f} M rows/s (best {best:.2f} M), {self.cost:.2f} CPU-s per M rows"
        )


def in_turns(
    jobs: Mapping[str, Callable[[], None]], rows: int, rounds: int, apart_from: int | None
) -> dict[str, Figures]:
    """`apart_from` is a process whose CPU time is not counted: the broker's."""
    found = {name: Figures() for name in jobs}
    for number in range(rounds):
        names = list(jobs)[:: -1 if number % 2 else 1]
        for name in names:
            before_s, begun_s = cpu_s(apart_from), time.perf_counter()
            jobs[name]()
            found[name].rates.append(rows / (time.perf_counter() - begun_s))
            found[name].costs.append((cpu_s(apart_from) - before_s) / rows * 1e6)
    return found


def cpu_s(apart_from: int | None) -> float:
    """CPU seconds of this process and its descendants, and of those that they have waited for."""
    used: dict[int, tuple[int, float]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks = sum(map(int, fields[11:15]))
        used[int(each.parent.name)] = (int(fields[1]), ticks / _HUNDREDTHS)
    return sum(
        spent for pid, (_, spent) in used.items() if pid != apart_from and _is_ours(pid, used)
    )


def _is_ours(pid: int, used: Mapping[int, tuple[int, float]]) -> bool:
    own = os.getpid()
    while pid in used:
        if pid == own:
            return True
        pid = used[pid][0]
    return False
