"""The broker passes the simulation; the simulation is deterministic, shrinks, and finds what is
broken on purpose.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.simulation.draw import SETTINGS, draw
from tests.simulation.plan import Crash, Fault, Plan, Step
from tests.simulation.shrink import kind, shrink
from tests.simulation.world import World

from kafkaesque.broker.config import Config
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.log.files import write_atomically

_SEEDS = range(1, 301)
_BATCHES = 10
_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_broker_keeps_its_promises(batch: int) -> None:
    failures = {seed: World(draw(seed)).run() for seed in _SEEDS[batch::_BATCHES]}
    assert {seed: failure for seed, failure in failures.items() if failure} == {}


def test_settings_that_are_drawn_are_such_as_a_broker_takes() -> None:
    """One that is refused would leave what it is to try untried."""
    config = Config(dict(SETTINGS))
    changes = [settings for seed in _SEEDS for settings in _topic_settings(draw(seed))]
    assert len(changes) > 1000
    for settings in changes:
        config.topic(settings)


def _topic_settings(plan: Plan) -> Iterator[dict[str, str]]:
    for step in plan.steps:
        if step.action == "create":
            yield dict(step.args[2])
        elif step.action == "configure" and step.args[0]:
            _, key, value = step.args
            yield {} if value is None else {key: value}


def test_a_seed_has_one_history() -> None:
    for seed in (3, 11):
        assert _history(seed) == _history(seed)


def test_a_history_does_not_depend_on_the_order_of_hashes() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seed", "5"]
    outputs = {
        subprocess.run(
            command,
            cwd=_ROOT,
            env={**os.environ, "PYTHONHASHSEED": number},
            stdout=subprocess.PIPE,
            check=False,
        ).stdout
        for number in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.slow
def test_an_answer_before_the_flush_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "durable", lambda self, offset, mine=(): None)
    steps = [
        *(Step(0.1, f"admin-{i}", "create", (f"t{i}", 1, ())) for i in range(2)),
        *(Step(1.0 + i, "producer-0", "produce", ("t0", 0, 1, 0, 5, -1, 0)) for i in range(4)),
    ]
    plans = [_plan(*steps, Crash(4.004, "cut"), seed=seed) for seed in range(40)]
    failures = [(plan, found) for plan in plans if (found := World(plan).run())]
    # Of some the cut has to come just then, and not a step can be left out.
    smaller = [(shrink(plan, found), found) for plan, found in failures[:5]]
    small, found = min(smaller, key=lambda each: len(each[0].steps))
    assert len(small.steps) < len(steps)
    assert kind(World(small).run() or "") == kind(found)


def test_a_slept_through_long_poll_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "watch", lambda self, watcher: None)
    plan = _plan(
        Step(0.1, "admin-0", "create", ("t0", 1, ())),
        Step(1.0, "consumer-0", "fetch", ("t0", 0, 0, 15_000)),
        Step(2.0, "producer-0", "produce", ("t0", 0, 1, 0, 5, -1, 0)),
    )
    assert "slept on" in (World(plan).run() or "")


def test_a_request_without_an_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "_flush_ended", lambda self, flush, size, done: None)
    plan = _plan(Step(0.1, "admin-0", "create", ("t0", 1, ())))
    assert World(plan).run() is not None


def test_a_first_start_may_need_room_and_no_other_may(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: DiskStorage) -> None:
        write_atomically(self._directory._files, "/data/needless", b"-")

    step = Step(0.1, "admin-0", "create", ("t0", 1, ()))
    first = _plan(step, Fault(0.0, 1.0, "full", ("write",), "", 1000))
    later = _plan(step, Crash(2.0, "kill"), Fault(2.0, 3.0, "full", ("write",), "", 1000))
    assert (World(first).run(), World(later).run()) == (None, None)
    monkeypatch.setattr(DiskStorage, "forget_strangers", write)
    assert World(first).run() is None
    assert "does not start" in (World(later).run() or "")


def test_a_deletion_that_was_refused_is_in_doubt_until_its_log_is_mended() -> None:
    steps = [
        Step(0.1, "admin-0", "create", ("t0", 1, ())),
        Step(1.0, "admin-0", "delete", ("t0",)),
        Step(1.0, "admin-0", "create", ("t0", 1, ())),
    ]
    fault = Fault(1.0, 2.0, "eio", ("sync",), "/__cluster_metadata-0/", 1)
    plans = [_plan(*steps, fault, Crash(1.2, "cut"), seed=seed) for seed in range(20)]
    assert {World(plan).run() for plan in plans} == {None}


def test_a_log_start_that_no_disk_has_taken_may_be_lower_after_a_restart() -> None:
    """Retention has raised it when the broker is looked at, which a bad partition has kept waiting,
    and what has to be written before it is written cannot be.
    """
    plan = _plan(
        Step(0.1, "admin-0", "create", ("t0", 1, (("retention.bytes", "100"),))),
        Step(0.1, "admin-1", "create", ("t1", 1, ())),
        *(Step(1 + i / 10, "producer-0", "produce", ("t0", 0, 2, 0, 400, -1, 0)) for i in range(6)),
        Crash(1.9, "kill"),
        Fault(1.9, 14.0, "eio", ("rename",), "/t0-", 1000),
        Fault(1.9, 4.5, "eio", ("read", "open"), "/t1-0/", 1000),
        Crash(6.0, "stop"),
        settings=SETTINGS,
    )
    assert World(plan).run() is None


def _history(seed: int) -> str:
    world = World(draw(seed))
    world.run()
    return world.history.text()


def _plan(
    *parts: Step | Fault | Crash, seed: int = 0, settings: Mapping[str, str] | None = None
) -> Plan:
    return Plan(
        seed,
        False,
        False,
        tuple((settings or {}).items()),
        tuple(part for part in parts if isinstance(part, Step)),
        tuple(part for part in parts if isinstance(part, Fault)),
        tuple(part for part in parts if isinstance(part, Crash)),
    )
