"""What a group, and all groups together, keep: what is too much is refused and leaves nothing."""

from typing import Any

import pytest
from tests.unit.groups.driver import Driver, subscription

from kafkaesque.errors import ErrorCode
from kafkaesque.groups.bounds import MAX_PENDING, MAX_PROTOCOLS, Budget
from kafkaesque.groups.events import State
from kafkaesque.groups.group import MAX_CLIENT_ID, Group, GroupConfig
from kafkaesque.groups.records import group_record

MAX_BYTES = 10_000
SETTINGS = GroupConfig(initial_rebalance_delay_ms=0, max_stored_bytes=MAX_BYTES)


def driver(budget: Budget | None = None) -> Driver:
    return Driver(Group("g", SETTINGS, 0, budget=budget))


def offering(size: int, protocols: int = 1) -> dict[str, Any]:
    return {"protocols": tuple((f"p{n}", bytes(size)) for n in range(protocols))}


def test_who_would_make_the_group_larger_than_a_record_is_refused_and_leaves_nothing() -> None:
    group = driver()
    assert group.join(**offering(MAX_BYTES)).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.group.is_vacant
    assert group.group.roster.budget.used_bytes == 0
    assert group.join(**offering(MAX_BYTES // 2)).error is ErrorCode.NONE
    used = group.group.roster.budget.used_bytes
    assert group.join(**offering(MAX_BYTES // 2)).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.group.roster.budget.used_bytes == used
    assert len(group.group.roster) == 1


def test_a_group_may_offer_a_record_full_by_each_of_its_protocols() -> None:
    group = driver()
    assert group.join(**offering(MAX_BYTES // 2, protocols=5)).error is ErrorCode.NONE


def test_a_member_that_joins_again_takes_the_room_that_it_had() -> None:
    group = driver()
    (member,) = group.stable("a", **offering(MAX_BYTES // 2))
    more = offering(MAX_BYTES * 3 // 4)
    group.send_join(member, **more)
    assert group.state() is State.COMPLETING_REBALANCE
    too_much = group.join(member, **offering(MAX_BYTES))
    assert too_much.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.group.roster.members[member].protocols == more["protocols"]


def test_a_static_member_that_returns_takes_the_room_that_it_had() -> None:
    group = driver()
    group.static("one", **offering(MAX_BYTES // 2))
    again = group.join(group_instance_id="one", **offering(MAX_BYTES // 2))
    assert again.error is ErrorCode.NONE
    assert len(group.group.roster) == 1


def test_assignments_that_no_record_could_hold_are_refused_and_not_kept() -> None:
    group = driver()
    joined = group.join(**offering(100))
    member = joined.member_id
    too_much = group.sync(member, assignments={member: bytes(MAX_BYTES)})
    assert too_much.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert group.state() is State.COMPLETING_REBALANCE
    assert group.group.roster.members[member].assignment == b""
    assert group.sync(member, assignments={member: b"less"}).assignment == b"less"


def test_a_group_that_is_stored_fits_into_its_record() -> None:
    group = driver()
    sizes = subscription(*(f"t{n}" for n in range(50)))
    tokens = [group.send_join(protocols=(("range", sizes),)) for _ in range(10)]
    for member in list(group.group.roster.members):
        group.send_join(member, protocols=(("range", sizes),))
    leader = group.group.leader
    assert leader is not None
    group.sync(leader, assignments={name: bytes(50) for name in group.group.roster.members})
    key, value = group_record("g", group.stored[-1])
    assert len(tokens) == len(group.stored[-1].members)
    assert len(key) + len(value) <= group.group.roster.stored_bytes + 100


def test_all_groups_share_a_budget_and_give_back_what_they_took() -> None:
    budget = Budget(max_bytes=12_000)
    first, second = driver(budget), driver(budget)
    members = first.stable("a", **offering(2_000, protocols=4))
    used = budget.used_bytes
    refused = second.join(**offering(2_000, protocols=4))
    assert refused.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert second.group.is_vacant
    assert budget.used_bytes == used
    first.leave(*members)
    assert budget.used_bytes == 0
    assert second.join(**offering(2_000, protocols=4)).error is ErrorCode.NONE


def test_assignments_are_part_of_the_budget() -> None:
    budget = Budget(max_bytes=6_000)
    group = driver(budget)
    member = group.join(**offering(1_000)).member_id
    later = group.sync(member, assignments={member: bytes(5_000)})
    assert later.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    group.sync(member, assignments={member: bytes(2_000)})
    assert budget.used_bytes > 4_000
    group.leave(member)
    assert budget.used_bytes == 0


def test_ids_that_nobody_joins_with_are_part_of_the_budget_and_bounded() -> None:
    budget = Budget()
    group = driver(budget)
    for _ in range(3):
        told = group.join(require_known_member_id=True)
        assert told.error is ErrorCode.MEMBER_ID_REQUIRED
    assert budget.used_bytes > 0
    group.group.roster.pending.update({str(n): 0 for n in range(MAX_PENDING)})
    assert group.join(require_known_member_id=True).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    for n in range(MAX_PENDING):
        del group.group.roster.pending[str(n)]
    group.wait(10_000)
    assert budget.used_bytes == 0
    assert group.group.is_vacant


def test_a_client_id_of_any_length_makes_a_member_id_that_is_not_long() -> None:
    group = driver()
    member_id = group.join(client_id="c" * 5_000).member_id
    assert member_id.startswith("c" * MAX_CLIENT_ID + "-")
    assert len(member_id) < MAX_CLIENT_ID + 50


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol_type": "t" * 40_000},
        {"protocols": (("p" * 40_000, b""),)},
        offering(1, protocols=MAX_PROTOCOLS + 1),
    ],
)
def test_what_no_record_could_name_is_no_request(fields: dict[str, Any]) -> None:
    group = driver()
    assert group.join(**fields).error is ErrorCode.INVALID_REQUEST
    assert group.group.is_vacant
