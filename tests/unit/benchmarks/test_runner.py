"""Who is started and warmed up when, who takes turns with whom, and what is left: nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks import machine
from benchmarks.bars import BARS
from benchmarks.drive import Load, Rate
from benchmarks.figures.figure import Figure, Measured, Start
from benchmarks.peers.loop_delay import LoopDelay
from benchmarks.peers.peer import Broker, Kind, Peer, Variant
from benchmarks.runner import WARM_UP, WARM_UP_ROUNDS, Runner
from benchmarks.subject import Subject

KAFKA = Variant("Kafka", Kind.DEFAULT, "theirs")
DURABLE = Variant("durable", Kind.DEFAULT, "ours")
CACHED = Variant("caching", Kind.CACHED, "ours, too")
REFERENCE_MB_PER_S = 300.0


@dataclass
class FakeBroker:
    """Writes down in `events` what is done to it. Each reading of its loop finds a tick more."""

    data_dir: Path
    name: str
    events: list[str]
    bootstrap: str = "nowhere:0"
    pid: int = 0
    readings: int = 0

    def start(self) -> None:
        self.data_dir.mkdir()
        self.events.append(f"start {self.name}")

    def stop(self) -> None:
        self.events.append(f"stop {self.name}")

    def kill(self) -> None:
        raise NotImplementedError


def _loop_delay(broker: Broker) -> LoopDelay:
    assert isinstance(broker, FakeBroker)
    broker.readings += 1
    late = broker.readings // 2
    return LoopDelay({20.0: 100, 50.0: 100 + late, float("inf"): 100 + late}, 90.0)


@pytest.fixture
def events() -> list[str]:
    return []


@pytest.fixture
def runner(tmp_path: Path, events: list[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    """On peers that do nothing; loads on them are among the events."""

    @contextmanager
    def topic(_: Subject, partitions: int = 1) -> Iterator[str]:
        yield "topic"

    def produce(subject: Subject, topic: str, load: Load) -> Rate:
        events.append(f"load {subject.variant.name}")
        assert load in WARM_UP
        return Rate(REFERENCE_MB_PER_S if subject.variant == KAFKA else 1.0, 1.0)

    monkeypatch.setattr(Subject, "topic", topic)
    monkeypatch.setattr(Subject, "produce", produce)
    monkeypatch.setattr(Subject, "consume", lambda *_: None)
    monkeypatch.setattr(machine, "warm_memory", lambda *_: None)
    monkeypatch.setattr("os.sync", lambda: None)
    theirs = Peer("Apache", lambda path: FakeBroker(path, "Apache", events), dict, (KAFKA,))
    ours = Peer(
        "Ours", lambda path: FakeBroker(path, "Ours", events), dict, (DURABLE, CACHED), _loop_delay
    )
    return Runner((theirs, ours), KAFKA, tmp_path, None, 1.0)


def figure(name: str, start: Start, events: list[str], half_load: bool = False) -> Figure:
    def measure(subject: Subject) -> Iterator[Measured]:
        events.append(f"{name} {subject.variant.name}")
        yield Measured("half load", "MB/s", subject.half_load_mb_per_s)

    return Figure(name, "", measure, start=start, half_load=half_load, rounds=2)


STARTED = ["start Apache", "start Ours"]
STOPPED = ["stop Ours", "stop Apache"]
LOADED = ["load Kafka", "load durable"]


def turns(name: str) -> list[str]:
    return [f"{name} {variant}" for variant in ("Kafka", "durable", "caching")] * 2


def test_figures_on_brokers_just_started_begin_at_once(runner: Runner, events: list[str]) -> None:
    runner.run([figure("rate", Start.STARTED, events), figure("more", Start.STARTED, events)])
    assert events == [*STARTED, *turns("rate"), *turns("more"), *STOPPED]


def test_warm_brokers_are_others_and_have_been_loaded(runner: Runner, events: list[str]) -> None:
    runner.run([figure("warm", Start.WARM, events), figure("rate", Start.STARTED, events)])
    each = [event for event in LOADED for _ in WARM_UP]
    first = [*STARTED, *turns("rate"), *STOPPED]
    assert events == [*first, *STARTED, *each * WARM_UP_ROUNDS, *turns("warm"), *STOPPED]


def test_brokers_of_their_own_come_first_and_are_not_started(
    runner: Runner, events: list[str]
) -> None:
    runner.run([figure("rate", Start.STARTED, events), figure("own", Start.OWN, events)])
    whose = {"Kafka": "Apache", "durable": "Ours", "caching": "Ours"}
    turn = [event for name in whose for event in (f"own {name}", f"stop {whose[name]}")]
    assert events[:14] == [*turn * 2, *STARTED]


@pytest.mark.parametrize("start", [Start.STARTED, Start.WARM])
def test_half_a_load_is_half_of_what_the_reference_takes_right_before(
    runner: Runner, events: list[str], start: Start
) -> None:
    runner.run([figure("rate", start, events), figure("trip", start, events, half_load=True)])
    trip = events.index("trip Kafka")
    assert events[trip - 3 : trip] == ["rate caching", *LOADED]
    rate, trip_row = (row for row in runner.collection.rows() if row.name == "half load")
    assert rate.value("durable") == 0.0
    assert trip_row.value("durable") == REFERENCE_MB_PER_S / 2


def test_the_command_line_may_say_how_many_rounds(runner: Runner, events: list[str]) -> None:
    runner.rounds = 1
    runner.run([figure("rate", Start.STARTED, events)])
    assert events[2:-2] == turns("rate")[:3]


def test_the_loop_is_read_around_each_turn_of_those_who_tell(
    runner: Runner, events: list[str]
) -> None:
    runner.run([figure("rate", Start.STARTED, events), figure("own", Start.OWN, events)])
    rows = {row.name: row for row in runner.collection.rows() if row.figure == "rate"}
    late, at_most = rows["loop later than 20 ms"], rows["loop delay at most"]
    assert late.samples == {"durable": (1, 1), "caching": (1, 1)}
    assert at_most.samples == {"durable": (50.0, 50.0), "caching": (50.0, 50.0)}
    assert late.peak
    assert [bar.holds(at_most) for bar in BARS if bar.is_about(at_most)] == [False, False]
    assert {row.name for row in runner.collection.rows() if row.figure == "own"} == {"half load"}


@pytest.mark.parametrize("start", list(Start))
def test_nothing_is_left_when_a_figure_fails(
    runner: Runner, events: list[str], start: Start
) -> None:
    def measure(subject: Subject) -> Iterator[Measured]:
        yield Measured("some", "s", 1.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run([Figure("fails", "", measure, start=start)])
    assert "stop Apache" in events
    assert list(runner.scratch.iterdir()) == []
    assert [row.name for row in runner.collection.rows()] == ["some"]
