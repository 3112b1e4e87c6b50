"""Who may commit offsets in a transaction (KIP-447)."""

import pytest
from tests.unit.groups.driver import Driver

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.events import State

NOBODY = (-1, "", None)


def test_a_member_of_this_generation_may() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    generation = driver.group.generation
    assert driver.group.transactional_commit_error(generation, member, None) is ErrorCode.NONE


@pytest.mark.parametrize("difference", [-1, 1])
def test_another_generation_is_refused(difference: int) -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    generation = driver.group.generation + difference
    error = driver.group.transactional_commit_error(generation, member, None)
    assert error is ErrorCode.ILLEGAL_GENERATION


def test_a_stranger_is_refused() -> None:
    driver = Driver()
    driver.stable("a")
    for generation in (-1, driver.group.generation):
        error = driver.group.transactional_commit_error(generation, "stranger", None)
        assert error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_has_been_replaced_is_fenced() -> None:
    driver = Driver()
    (member,) = driver.static("i")
    group = driver.group
    assert group.transactional_commit_error(group.generation, member, "i") is ErrorCode.NONE
    error = group.transactional_commit_error(group.generation, "older", "i")
    assert error is ErrorCode.FENCED_INSTANCE_ID
    error = group.transactional_commit_error(group.generation, member, "other")
    assert error is ErrorCode.UNKNOWN_MEMBER_ID


def test_producers_from_before_version_3_say_nothing_of_themselves() -> None:
    driver = Driver()
    assert driver.group.transactional_commit_error(*NOBODY) is ErrorCode.NONE
    driver.stable("a")
    assert driver.group.transactional_commit_error(*NOBODY) is ErrorCode.NONE


def test_an_empty_group_knows_no_generation() -> None:
    group = Driver().group
    assert group.transactional_commit_error(-1, "anybody", None) is ErrorCode.NONE
    assert group.transactional_commit_error(3, "anybody", None) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_does_not_refuse_who_is_of_its_generation() -> None:
    driver = Driver()
    member = driver.join().member_id
    assert driver.state() is State.COMPLETING_REBALANCE
    generation = driver.group.generation
    assert driver.group.transactional_commit_error(generation, member, None) is ErrorCode.NONE


def test_it_is_no_heartbeat() -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    deadline = driver.group.next_deadline()
    driver.now += 1_000
    driver.group.transactional_commit_error(driver.group.generation, member, None)
    assert driver.group.next_deadline() == deadline


def test_a_dead_group_is_not_there() -> None:
    driver = Driver()
    driver.delete()
    error = driver.group.transactional_commit_error(*NOBODY)
    assert error is ErrorCode.COORDINATOR_NOT_AVAILABLE
