"""Runs figures: peers in turns, round after round, and says on stderr how far it is.

Figures that need a fresh broker come first, each broker in a directory that goes with it. Then all
peers are started once and warmed up, and the others take turns on them. Whatever ends the run, an
error or Ctrl-C, stops the brokers and removes what they wrote.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.figures.figure import Figure
from benchmarks.figures.rate import PLAIN, SMALL_AND_MANY
from benchmarks.peers.peer import Broker, Peer, Variant
from benchmarks.report import Collection
from benchmarks.subject import Subject

WARM_UP = (PLAIN, SMALL_AND_MANY)
WARM_UP_ROUNDS = 3


@dataclass(slots=True)
class Runner:
    peers: Sequence[Peer]
    reference: Variant
    scratch: Path
    rounds: int
    scale: float
    collection: Collection = field(default_factory=Collection)
    _began: float = field(default_factory=time.monotonic)

    def run(self, figures: Sequence[Figure]) -> None:
        for figure in figures:
            if figure.fresh:
                self._run_fresh(figure)
        warm = [figure for figure in figures if not figure.fresh]
        if warm:
            self._run_warm(warm)

    def _run_fresh(self, figure: Figure) -> None:
        for number, peer, variant in self._turns(figure):
            directory = self.scratch / f"{figure.name}-{number}"
            directory.mkdir()
            try:
                subject = Subject(peer.make(directory / "data"), variant, directory, self.scale)
                self._measure(figure, subject, number)
            finally:
                shutil.rmtree(directory)

    def _run_warm(self, figures: Sequence[Figure]) -> None:
        with ExitStack() as stack:
            brokers = {peer.name: peer.make(self.scratch / peer.name) for peer in self.peers}
            for broker in brokers.values():
                stack.callback(broker.stop)
                broker.start()
            half_load = self._warm_up(brokers)
            for figure in figures:
                for number, peer, variant in self._turns(figure):
                    broker = brokers[peer.name]
                    subject = Subject(broker, variant, self.scratch, self.scale, half_load)
                    self._measure(figure, subject, number)

    def _warm_up(self, brokers: dict[str, Broker]) -> float:
        """Half of the best rate of the reference at the plain load, in MB/s."""
        best = 0.0
        for number in range(WARM_UP_ROUNDS):
            for peer in self.peers:
                variant = peer.variants[0]
                self._say(f"warm-up {number + 1}: {variant.name}")
                subject = Subject(brokers[peer.name], variant, self.scratch, self.scale)
                for load in WARM_UP:
                    with subject.topic(load.partitions) as topic:
                        rate = subject.produce(topic, load)
                        subject.consume(topic, load)
                    if variant == self.reference and load == PLAIN:
                        best = max(best, rate.mb_per_s)
        return best / 2

    def _turns(self, figure: Figure) -> Iterator[tuple[int, Peer, Variant]]:
        rounds = figure.rounds if figure.rounds and self.scale == 1.0 else self.rounds
        for number in range(1, rounds + 1):
            for peer in self.peers:
                for variant in peer.variants:
                    if variant.kind in figure.kinds:
                        yield number, peer, variant

    def _measure(self, figure: Figure, subject: Subject, number: int) -> None:
        self._say(f"{figure.name} {number}: {subject.variant.name}")
        # What the one before has left in the page cache would be written at this one's expense.
        os.sync()
        for name, unit, value in figure.measure(subject):
            self.collection.add(figure.name, subject.variant.name, name, unit, value)

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s  {text}", file=sys.stderr, flush=True)
