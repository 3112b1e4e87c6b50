"""Cures can be taken back and put back, and the simulation finds the broker without them.

Most need many seeds (`python -m tests.simulation --without-each`); a few are found by a plan that
is written for them.
"""

import re
from typing import Any

import pytest
from tests.simulation.cures import CURES
from tests.simulation.cures.cure import Cure, without
from tests.simulation.cures.lost import LOST
from tests.simulation.cures.stuck import STUCK
from tests.simulation.draw import LONG_NAME, SETTINGS
from tests.simulation.plan import Crash, Fault, Plan, Step
from tests.simulation.world import World


def test_each_cure_has_a_name_of_its_own() -> None:
    assert len(CURES) == len(LOST) + len(STUCK)


@pytest.mark.parametrize("cure", CURES.values(), ids=CURES)
def test_a_cure_is_taken_back_and_put_back(cure: Cure) -> None:
    before = _attributes(cure)
    with without(cure):
        assert all(now is not then for now, then in zip(_attributes(cure), before, strict=True))
    assert all(now is then for now, then in zip(_attributes(cure), before, strict=True))


@pytest.mark.parametrize("cure", CURES.values(), ids=CURES)
def test_a_cure_does_not_show_in_anything(cure: Cure) -> None:
    assert not re.search(cure.shows, "")


def test_a_cure_is_put_back_when_a_run_raises() -> None:
    cure = CURES["fetch-sessions-by-owner"]
    before = _attributes(cure)
    with pytest.raises(ZeroDivisionError), without(cure):
        raise ZeroDivisionError
    assert _attributes(cure) == before


@pytest.mark.parametrize("action", ["use_session", "end_session"])
def test_fetch_sessions_of_everybody_are_found(action: str) -> None:
    steps = (
        Step(0.1, "admin-0", "create", ("t0", 1, ())),
        Step(1.0, "session-0", "fetch_in_session", ("t0", 0)),
        Step(2.0, "intruder-0", action, ("session-0",)),
        Step(3.0, "session-0", "fetch_in_session", ("t0", 0)),
    )
    _assert_found("fetch-sessions-by-owner", _plan(steps))


def test_a_name_that_is_too_long_to_be_deleted_is_found() -> None:
    steps = (
        Step(0.1, "admin-8", "create", (LONG_NAME, 1, ())),
        Step(1.0, "admin-8", "delete", (LONG_NAME,)),
    )
    _assert_found("long-names-deleted", _plan(steps))


def test_producer_ids_from_0_are_found() -> None:
    steps = (Step(0.1, "idempotent-0", "begin"), Step(2.0, "idempotent-1", "begin"))
    plan = _plan(steps, in_memory=True, crashes=(Crash(1.0, "stop"),))
    _assert_found("producer-ids-begin-anywhere", plan)


def test_a_swap_that_is_left_to_the_next_start_is_found() -> None:
    settings = (
        ("cleanup.policy", "compact,delete"),
        ("retention.bytes", "100"),
        ("write.caching", "false"),
    )
    steps = (
        Step(0.905, "admin-4", "create", ("t4", 1, settings)),
        Step(1.974, "producer-2", "produce", ("t4", 2, 2, 3, 400, -1, 0)),
        Step(2.673, "producer-2", "produce", ("t4", 2, 2, 1, 400, -1, 0)),
        Step(2.866, "producer-0", "produce", ("t4", 2, 2, 3, 400, -1, 0)),
    )
    faults = (Fault(2.919, 11.919, "eio", ("remove",), "/t4-", 1000),)
    plan = Plan(2, False, False, tuple(SETTINGS.items()), steps, faults, ())
    _assert_found("swaps-finished-later", plan)


def test_a_metadata_log_that_is_shortened_under_repair_is_found() -> None:
    """The fourth topic is refused, and its repair slow; then one is made before the next
    checkpoint, and the process killed.
    """
    creations = ((0.1, 9), (0.2, 9), (3.5, 9), (3.9, 9), (7.2, 1))
    steps = tuple(
        Step(at, f"admin-{number}", "create", (f"t{number}", partitions, ()))
        for number, (at, partitions) in enumerate(creations)
    )
    faults = (
        Fault(3.8, 4.1, "eio", ("sync",), "/__cluster_metadata", 1),
        Fault(4.1, 5.0, "slow", ("sync",), "/__cluster_metadata", 1),
    )
    settings = SETTINGS | {"log.segment.bytes": "9000"}
    crashes = (Crash(7.5, "kill"),)
    plan = Plan(0, False, False, tuple(settings.items()), steps, faults, crashes)
    _assert_found("shortening-waits-for-repairs", plan)


def _assert_found(name: str, plan: Plan) -> None:
    assert World(plan).run() is None
    with without(CURES[name]):
        assert re.search(CURES[name].shows, World(plan).run() or "")


def _attributes(cure: Cure) -> list[Any]:
    return [vars(change.owner)[change.name] for change in cure.changes()]


def _plan(
    steps: tuple[Step, ...], *, in_memory: bool = False, crashes: tuple[Crash, ...] = ()
) -> Plan:
    return Plan(0, in_memory, False, (), steps, (), crashes)
