"""Runs figures: peers in turns, round after round, and says on stderr how far it is.

Figures that get a broker of their own come first. Then all peers are started for the figures on
brokers just started, which take turns on them; and once more, and warmed up, for the others. A
broker that tells how late its event loop was is asked before and after each of these turns.
Whatever ends the run, an error or Ctrl-C, stops the brokers and removes what they wrote.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import machine
from benchmarks.figures.figure import Figure, Measured, Start
from benchmarks.figures.rate import PLAIN, SMALL_AND_MANY
from benchmarks.peers.loop_delay import LIMIT_MS, LoopDelay
from benchmarks.peers.peer import Peer, Variant
from benchmarks.report import Collection
from benchmarks.subject import Subject

WARM_UP = (PLAIN, SMALL_AND_MANY)
WARM_UP_ROUNDS = 3
HEAP_BYTES = 1e9


@dataclass(slots=True)
class Runner:
    """`rounds`: of each figure, instead of its own number."""

    peers: Sequence[Peer]
    reference: Variant
    scratch: Path
    rounds: int | None
    scale: float
    collection: Collection = field(default_factory=Collection)
    _began: float = field(default_factory=time.monotonic)

    def run(self, figures: Sequence[Figure]) -> None:
        for figure in figures:
            if figure.start is Start.OWN:
                self._run_own(figure)
        for start in (Start.STARTED, Start.WARM):
            together = [figure for figure in figures if figure.start is start]
            if together:
                self._run_together(start, together)

    def _run_own(self, figure: Figure) -> None:
        for number, peer, variant in self._turns(figure):
            with self._directory(figure.name) as directory, ExitStack() as stack:
                broker = peer.make(directory / "data")
                stack.callback(broker.stop)
                subject = Subject(broker, variant, directory, self.scale)
                self._measure(figure, peer, subject, number)

    def _run_together(self, start: Start, figures: Sequence[Figure]) -> None:
        with self._directory(start.name.lower()) as directory, ExitStack() as stack:
            subjects = {}
            for peer in self.peers:
                broker = peer.make(directory / peer.name)
                stack.callback(broker.stop)
                broker.start()
                for variant in peer.variants:
                    subjects[variant.name] = Subject(broker, variant, directory, self.scale)
            # Java's heap is memory that is used for the first time, too.
            machine.warm_memory(directory, HEAP_BYTES)
            if start is Start.WARM:
                self._warm_up(subjects)
            for figure in figures:
                half_load = self._half_load(subjects) if figure.half_load else 0.0
                for number, peer, variant in self._turns(figure):
                    subject = replace(subjects[variant.name], half_load_mb_per_s=half_load)
                    self._measure(figure, peer, subject, number)

    def _warm_up(self, subjects: Mapping[str, Subject]) -> None:
        for number in range(1, WARM_UP_ROUNDS + 1):
            for peer in self.peers:
                subject = subjects[peer.variants[0].name]
                self._say(f"warm-up {number}: {subject.variant.name}")
                for load in WARM_UP:
                    with subject.topic(load.partitions) as topic:
                        subject.produce(topic, load)
                        subject.consume(topic, load)

    def _half_load(self, subjects: Mapping[str, Subject]) -> float:
        """Half of what the reference takes of the plain load, in MB/s.

        Each peer gets that load: none is warmer than the others for having been asked.
        """
        rates = {}
        for peer in self.peers:
            name = peer.variants[0].name
            self._say(f"half load: {name}")
            with subjects[name].topic() as topic:
                rates[name] = subjects[name].produce(topic, PLAIN).mb_per_s
        return rates[self.reference.name] / 2

    def _turns(self, figure: Figure) -> Iterator[tuple[int, Peer, Variant]]:
        for number in range(1, (self.rounds or figure.rounds) + 1):
            for peer in self.peers:
                for variant in peer.variants:
                    if variant.kind in figure.kinds:
                        yield number, peer, variant

    def _measure(self, figure: Figure, peer: Peer, subject: Subject, number: int) -> None:
        self._say(f"{figure.name} {number}: {subject.variant.name}")
        # What the one before has left in the page cache would be written at this one's expense.
        os.sync()
        read_delay = None if figure.start is Start.OWN else peer.loop_delay
        before = read_delay(subject.broker) if read_delay else None
        for measured in figure.measure(subject):
            self.collection.add(figure.name, subject.variant.name, *measured)
        if read_delay and before:
            for measured in _lateness(read_delay(subject.broker).since(before)):
                self.collection.add(figure.name, subject.variant.name, *measured)

    @contextmanager
    def _directory(self, name: str) -> Iterator[Path]:
        directory = self.scratch / name
        directory.mkdir()
        try:
            yield directory
        finally:
            shutil.rmtree(directory)

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s  {text}", file=sys.stderr, flush=True)


def _lateness(delay: LoopDelay) -> Iterator[Measured]:
    yield Measured(f"loop later than {LIMIT_MS:g} ms", "ticks", delay.late, peak=True)
    yield Measured("loop delay at most", "ms", delay.at_most_ms, peak=True)
