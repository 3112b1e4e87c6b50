"""Questions about groups that are answered in part, too late, or not as they were asked."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests import foreign
from tests.altered_broker import Handle, altered_broker, handle_of

from kafkaesque.broker.apis import Context
from kafkaesque.client.admin import Admin
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.coordinators import Coordinator, Coordinators
from kafkaesque.client.group_requests import commit, committed
from kafkaesque.client.groups import Groups
from kafkaesque.client.profiles import connection_of
from kafkaesque.errors import ErrorCode
from kafkaesque.pipelines.source.commits import GroupCommits
from kafkaesque.protocol.messages.describe_groups import DescribedGroup
from kafkaesque.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafkaesque.types import TopicPartition

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
DELETE_GROUPS = 42


def connection(bootstrap: str, timeout_s: float = 10.0) -> Connection:
    return replace(connection_of(bootstrap), timeout_s=timeout_s)


def groups_of(bootstrap: str, timeout_s: float = 10.0) -> Groups:
    return Groups(Admin.connect(connection(bootstrap, timeout_s)))


def commit_all(bootstrap: str, *names: str) -> None:
    foreign.create_topic(bootstrap, PLACE.topic, 2)
    told = Coordinators(connection(bootstrap)).ask(names, commit({PLACE: 1}))
    assert told == {name: {PLACE: ErrorCode.NONE} for name in names}


def altered(name: str, alter: Callable[[Any, int], None]) -> dict[str, Handle]:
    """The broker's own answers to an API, altered; the second argument is which one it is."""
    number = 0

    async def handle(context: Context, request: Any) -> Any:
        nonlocal number
        number += 1
        answer = await handle_of(name)(context, request)
        alter(answer, number)
        return answer

    return {name: handle}


def hanging(name: str, after: int) -> dict[str, Handle]:
    """So many requests of an API are answered, and no more."""
    number = 0

    async def handle(context: Context, request: Any) -> Any:
        nonlocal number
        number += 1
        if number > after:
            await asyncio.sleep(3600)
        return await handle_of(name)(context, request)

    return {name: handle}


def test_a_deletion_whose_answer_is_lost_is_done() -> None:
    def lose(_: Any, number: int) -> None:
        if number == 1:
            raise ConnectionAbortedError("lost")

    with altered_broker(altered("DeleteGroups", lose)) as bootstrap:
        commit_all(bootstrap, "g")
        groups = groups_of(bootstrap)
        assert [status.error for status in groups.delete(["g"])] == [None]
        assert [status.error for status in groups.delete(["g"])] == ["GROUP_ID_NOT_FOUND"]


def test_a_group_that_was_refused_and_then_is_not_there_was_not_deleted() -> None:
    def refuse(answer: Any, number: int) -> None:
        if number == 1:
            answer.results[0].error_code = ErrorCode.NOT_COORDINATOR

    with altered_broker(altered("DeleteGroups", refuse)) as bootstrap:
        told = groups_of(bootstrap).delete(["nobody"])
    assert [status.error for status in told] == ["GROUP_ID_NOT_FOUND"]


def test_deletions_that_are_answered_in_time_are_told_and_so_are_the_others() -> None:
    names = [f"g{number:03}" for number in range(150)]
    with altered_broker(hanging("DeleteGroups", after=1)) as bootstrap:
        commit_all(bootstrap, *names)
        told = groups_of(bootstrap, timeout_s=1).delete(names)
    assert [status.name for status in told] == names
    assert [status.error for status in told[:100]] == [None] * 100
    assert {str(status) for status in told[100:]} == {
        f"COORDINATOR_NOT_AVAILABLE: {bootstrap} does not answer DeleteGroups within 1 s: "
        "try again, or give it more time with --timeout"
    }


def test_groups_that_are_described_in_time_are_whole() -> None:
    with altered_broker(hanging("OffsetFetch", after=2)) as bootstrap:
        commit_all(bootstrap, "a", "b", "c")
        told = groups_of(bootstrap, timeout_s=1).describe(["a", "b", "c"])
    assert [group.state for group in told] == ["Empty", "Empty", "Unknown"]
    assert [[lag.committed for lag in group.lags] for group in told] == [[1], [1], []]
    assert "does not answer OffsetFetch" in str(told[2].error)


def test_what_one_coordinator_refuses_does_not_hide_what_another_has_done() -> None:
    def forget_delete_groups(answer: Any, _: int) -> None:
        answer.api_keys = [each for each in answer.api_keys if each.api_key != DELETE_GROUPS]

    with altered_broker(altered("ApiVersions", forget_delete_groups)) as older:
        host, _, port = older.rpartition(":")

        async def find_coordinator(context: Context, request: Any) -> Any:
            if request.key == "elsewhere":
                return FindCoordinatorResponse(node_id=9, host=host, port=int(port))
            return await handle_of("FindCoordinator")(context, request)

        with altered_broker({"FindCoordinator": find_coordinator}) as bootstrap:
            commit_all(bootstrap, "here")
            here, elsewhere = groups_of(bootstrap).delete(["here", "elsewhere"])
    assert here.error is None
    assert str(elsewhere).startswith(f"UNSUPPORTED_VERSION: {older} knows no DeleteGroups of")


def test_a_coordinator_that_restarts_between_two_questions_is_asked_again() -> None:
    lost: list[str] = []

    def lose(_: Any, number: int) -> None:
        # The broker is away: neither the question nor who to ask is answered.
        if 1 < number < 4:
            lost.append("FindCoordinator")
            raise ConnectionAbortedError("lost")

    def question(coordinator: Coordinator, names: Any) -> Any:
        if not lost:
            coordinator.wire._socket.close()
        return committed()(coordinator, names)

    with altered_broker(altered("FindCoordinator", lose)) as bootstrap:
        assert Coordinators(connection(bootstrap)).ask(["g"], question) == {"g": {}}
    assert len(lost) == 2


@pytest.mark.parametrize("left_out", [1, 2])
def test_a_partition_that_a_commit_is_not_answered_for_is_not_committed(left_out: int) -> None:
    def leave_out(answer: Any, _: int) -> None:
        for topic in answer.topics:
            topic.partitions = topic.partitions[:-left_out]

    with altered_broker(altered("OffsetCommit", leave_out)) as bootstrap:
        foreign.create_topic(bootstrap, PLACE.topic, 2)
        told = groups_of(bootstrap).commit("g", {PLACE: 1, OTHER: 1})
        commits = GroupCommits(connection(bootstrap), "g")
        commits.commit({PLACE: 1, OTHER: 1})
    unknown = "UNKNOWN_SERVER_ERROR"
    assert told[OTHER].error == unknown
    assert told[PLACE].error == (None if left_out == 1 else unknown)
    assert not commits._is_well


def test_a_commit_that_is_put_off_for_some_partitions_is_asked_for_again() -> None:
    numbers: list[int] = []

    def put_off(answer: Any, number: int) -> None:
        numbers.append(number)
        if number == 1:
            answer.topics[0].partitions[0].error_code = ErrorCode.NOT_COORDINATOR

    gone = TopicPartition("u", 0)
    with altered_broker(altered("OffsetCommit", put_off)) as bootstrap:
        foreign.create_topic(bootstrap, PLACE.topic)
        told = groups_of(bootstrap).commit("g", {PLACE: 1, gone: 1})
    assert numbers == [1, 2]
    assert told[PLACE].error is None
    assert told[gone].error == "UNKNOWN_TOPIC_OR_PARTITION"


def test_a_commit_that_is_not_told_is_not_taken_for_none() -> None:
    async def offset_fetch(context: Context, request: Any) -> Any:
        partition = OffsetFetchResponsePartition(
            committed_offset=-1, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
        )
        topic = OffsetFetchResponseTopic(name=PLACE.topic, partitions=[partition])
        return OffsetFetchResponse(topics=[topic])

    with altered_broker({"OffsetFetch": offset_fetch}) as bootstrap:
        groups = groups_of(bootstrap)
        (told,) = groups.describe(["g"])
        with pytest.raises(ClusterError, match="group g: TOPIC_AUTHORIZATION_FAILED: "):
            groups.committed("g")
    assert (told.state, told.lags) == ("Unknown", [])
    assert str(told.error).startswith("TOPIC_AUTHORIZATION_FAILED: ")


def test_a_group_that_nobody_asked_about_is_passed_over() -> None:
    def add(answer: Any, _: int) -> None:
        answer.groups = [DescribedGroup(group_id="stranger", group_state="Empty"), *answer.groups]

    with altered_broker(altered("DescribeGroups", add)) as bootstrap:
        commit_all(bootstrap, "g")
        told = groups_of(bootstrap).describe(["g"])
    assert [(group.name, group.state) for group in told] == [("g", "Empty")]
