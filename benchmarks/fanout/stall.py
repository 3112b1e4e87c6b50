"""Scenario `stall`: one client among 10,000 takes nothing, under each policy for slow clients.

The clients stay connected over all windows. Windows alternate: without the stalled client, and
with it; which of the two comes first alternates, too. It wants every key, so that the server has
more for it than for any other. After its window it reads what is there, and is told what it missed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from benchmarks.fanout.drainer import Drainers, drainers
from benchmarks.fanout.feeding import Feed, feed
from benchmarks.fanout.load import Rounds
from benchmarks.fanout.report import Report, Sample, latencies
from benchmarks.fanout.servers.ours import ours
from benchmarks.fanout.servers.server import Served, Setting
from benchmarks.fanout.stalled import Account, Stalled
from benchmarks.fanout.turn import LATE_S, Ground, Shape

POLICIES = ("drop-oldest", "conflate", "pause", "disconnect")
PAIRS = 5
WINDOW = 4
"""Rounds of each window."""
WARM_UP = 2
MEMORY_MB = 100.0
"""The ring's 64 MB, and what goes with it."""


class Window(NamedTuple):
    first: int
    stalled: Account | None
    memory_mb: float


@dataclass(slots=True)
class Stall:
    policy: str
    setting: Setting
    served: Served
    producing: Feed
    per_window: int

    def windows(self) -> Iterator[Window]:
        self.producing.send(WARM_UP)
        before = self.served.memory().pss_kb
        for number in range(2 * PAIRS):
            with_it = number % 4 in (1, 2)
            account = self._stalled() if with_it else None
            if account is None:
                self.producing.send(WINDOW)
            grown = (self.served.memory().pss_kb - before) / 1000
            yield Window(WARM_UP + number * WINDOW, account, grown)

    def _stalled(self) -> Account:
        with Stalled(self.served.port, self.setting.topic, self.policy) as client:
            self.producing.send(WINDOW)
            return client.read()


def run(ground: Ground, report: Report, say: Callable[[str], None], shape: Shape) -> None:
    rounds = Rounds(WARM_UP, 2 * PAIRS * WINDOW)
    for policy in POLICIES:
        say(f"stall: {policy}, {shape.connections:,} connections")
        variant = ours("v1")
        with ground.setting() as setting, variant.serve(setting) as served:
            clients = shape.clients(variant, setting.topic, served.port)
            draining = drainers(clients, served.port, rounds, setting.directory, ground.drain)
            feeding = feed(setting.bootstrap, setting.topic, shape.load, setting.directory)
            with draining as drains, feeding as producing:
                stall = Stall(policy, setting, served, producing, WINDOW * shape.load.keys)
                for each in _samples(stall, drains, shape.connections):
                    report.add(each)


def _samples(stall: Stall, drains: Drainers, connections: int) -> Iterator[Sample]:
    windows = list(stall.windows())
    drained = drains.finish(LATE_S)
    for window in windows:
        times = drained.latencies_ms(window.first, window.first + WINDOW - 1)
        name = f"{stall.policy}, {'with' if window.stalled else 'without'}"
        figures = {**latencies(times), "memory_mb": window.memory_mb}
        if window.stalled is not None:
            figures |= told(window.stalled, stall.per_window)
        yield Sample("stall", name, connections, figures, drained.fault)


def told(account: Account, produced: int) -> dict[str, float]:
    """`accounted`: the share of the messages that it got, or was told that it missed."""
    return {
        "stalled_delivered": account.delivered,
        "stalled_missed": account.missed,
        "stalled_gaps": account.gaps,
        "stalled_closed": float(account.closed is not None),
        "accounted": (account.delivered + account.missed) / produced,
    }


class Outcome(NamedTuple):
    """Of a policy: the others' p99, by the median of the windows, and what became of the client."""

    policy: str
    without_ms: float
    with_ms: float
    memory_mb: float
    delivered: float
    missed: float
    accounted: float
    closed: float

    @property
    def limit_ms(self) -> float:
        return max(self.without_ms * 1.25, self.without_ms + 2.0)

    @property
    def holds(self) -> bool:
        told = self.closed == 1.0 if self.policy == "disconnect" else self.accounted == 1.0
        return self.with_ms <= self.limit_ms and self.memory_mb <= MEMORY_MB and told


def outcomes(report: Report) -> Iterator[Outcome]:
    for policy in POLICIES:
        with_it, without = (report.of("stall", f"{policy}, {word}") for word in ("with", "without"))
        if not with_it or not without:
            continue

        def middle(name: str, samples: list[Sample] = with_it) -> float:
            return median(sample.figures.get(name, 0.0) for sample in samples)

        yield Outcome(
            policy,
            middle("p99", without),
            middle("p99"),
            max(sample.figures["memory_mb"] for sample in with_it),
            middle("stalled_delivered"),
            middle("stalled_missed"),
            middle("accounted"),
            middle("stalled_closed"),
        )
