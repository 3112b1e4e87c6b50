"""Brokers and coordinators that hang, are away, or are late: the others answer, and in time."""

from collections.abc import Callable
from dataclasses import replace
from socket import AF_INET, SOCK_STREAM
from typing import Any

import pytest
from tests import foreign, group_state
from tests.altered_broker import Handle, altered_broker, handle_of
from tests.commands import Commands
from tests.silent_listener import silent_listener, trickling_listener, unreachable_listener
from tests.switched_proxy import SwitchedProxy

from kafkaesque.broker.apis import Context
from kafkaesque.client.admin import Admin
from kafkaesque.client.connection import Address, Connection, UnansweredError, connect
from kafkaesque.client.coordinators import Coordinators
from kafkaesque.client.group_requests import committed, delete, describe
from kafkaesque.client.groups import Groups
from kafkaesque.client.profiles import connection_of
from kafkaesque.client.wire import Wire
from kafkaesque.errors import ErrorCode
from kafkaesque.pipelines.sink.ledger import Ledger
from kafkaesque.pipelines.sink.state import State
from kafkaesque.pipelines.source.commits import GroupCommits
from kafkaesque.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kafkaesque.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkaesque.testing import Kafka
from kafkaesque.types import TopicPartition

NOBODY = "127.0.0.1:1"
PLACE = TopicPartition("t", 0)


def connection(brokers: str, timeout_s: float) -> Connection:
    return replace(connection_of(brokers), timeout_s=timeout_s)


def coordinators(brokers: str, timeout_s: float) -> Coordinators:
    return Coordinators(connection(brokers, timeout_s))


def misleading(address: Callable[[str], str | None]) -> dict[str, Handle]:
    """The coordinator of a group is said to be at `address`, if there is one."""

    async def find_coordinator(context: Context, request: Any) -> Any:
        elsewhere = address(request.key)
        if elsewhere is None:
            return await handle_of("FindCoordinator")(context, request)
        host, _, port = elsewhere.rpartition(":")
        return FindCoordinatorResponse(node_id=9, host=host, port=int(port))

    return {"FindCoordinator": find_coordinator}


def test_a_broker_that_hangs_leaves_time_for_the_next_which_is_then_asked_first(
    kafka: Kafka,
) -> None:
    with silent_listener() as hanging:
        both = coordinators(f"{hanging.address},{kafka.bootstrap_servers}", timeout_s=4)
        for _ in range(3):
            assert both.ask(["g"], committed()) == {"g": {}}
        assert hanging.callers() == 1


def test_sinks_and_queries_get_past_a_broker_that_hangs(kafka: Kafka) -> None:
    foreign.create_topic(kafka.bootstrap_servers, PLACE.topic)
    with silent_listener() as hanging:
        both = connection(f"{hanging.address},{kafka.bootstrap_servers}", timeout_s=4)
        assert Ledger(both, "writer", None).read(stable=True) == State()
        GroupCommits(both, "g").commit({PLACE: 7})
    assert group_state.commits(kafka.bootstrap_servers, "g")[PLACE].offset == 7


def test_a_coordinator_that_is_away_or_hangs_does_not_hide_the_groups_of_others() -> None:
    with silent_listener() as hanging:
        elsewhere = {"away": NOBODY, "hanging": hanging.address}
        with altered_broker(misleading(elsewhere.get)) as bootstrap:
            groups = Groups(Admin.connect(connection(bootstrap, timeout_s=3)))
            foreign.create_topic(bootstrap, PLACE.topic)
            groups.commit("well", {PLACE: 0})
            told = groups.describe(["hanging", "away", "well"])
    assert [group.state for group in told] == ["Unknown", "Unknown", "Empty"]
    assert [(group.error or "").partition(":")[0] for group in told] == [
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_NOT_AVAILABLE",
        "",
    ]


def test_a_coordinator_that_is_away_is_looked_for_again() -> None:
    addresses = iter([NOBODY, NOBODY])
    with altered_broker(misleading(lambda _: next(addresses, None))) as bootstrap:
        assert coordinators(bootstrap, timeout_s=10).ask(["g"], committed()) == {"g": {}}


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (NOBODY, "Connection refused"),
        ("a..b:9092", "no host can have that name"),
        (f"{'x' * 64}.example:9092", "no host can have that name"),
    ],
)
def test_coordinators_of_which_none_is_there_are_one_complaint(address: str, reason: str) -> None:
    with (
        altered_broker(misleading(lambda _: address)) as bootstrap,
        pytest.raises(UnansweredError, match=rf"nothing answers at {address} \({reason}\): see"),
    ):
        coordinators(bootstrap, timeout_s=2).ask(["g", "h"], committed())


def test_an_address_of_a_host_that_cannot_be_reached_leaves_time_for_its_others(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports: list[int] = []

    def getaddrinfo(*_: object, **__: object) -> list[Any]:
        return [(AF_INET, SOCK_STREAM, 0, "", ("127.0.0.1", port)) for port in ports]

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    with unreachable_listener() as unreachable:
        ports = [unreachable, connection_of(kafka.bootstrap_servers).brokers[0].port]
        connect(Address("host", 9092), timeout_s=1).close()
        ports = [unreachable, unreachable]
        with pytest.raises(TimeoutError):
            connect(Address("host", 9092), timeout_s=0.4)
        ports = []
        with pytest.raises(OSError, match="it has no address"):
            connect(Address("host", 9092), timeout_s=0.4)


def test_an_answer_that_trickles_in_is_late() -> None:
    with (
        trickling_listener(seconds=3) as bootstrap,
        pytest.raises(UnansweredError, match=r"does not answer ApiVersions within 0\.5 s"),
    ):
        coordinators(bootstrap, timeout_s=0.5).ask(["g"], committed())
    with (
        trickling_listener(seconds=3) as bootstrap,
        pytest.raises(UnansweredError, match=r"does not answer ApiVersions within 0\.5 s"),
        Wire(connection_of(bootstrap).brokers[0], connection(bootstrap, timeout_s=0.5)) as wire,
    ):
        wire.ask(ListGroupsRequest(), ListGroupsResponse, 0)


def test_answers_that_take_their_time_each_are_late_together(kafka: Kafka) -> None:
    kafka.faults.delay("FindCoordinator", seconds=0.4)
    names = [f"g{number}" for number in range(5)]
    with pytest.raises(UnansweredError, match="does not answer FindCoordinator within 1 s"):
        coordinators(kafka.bootstrap_servers, timeout_s=1).ask(names, committed())


def test_every_question_on_a_wire_has_the_whole_time(kafka: Kafka) -> None:
    kafka.faults.delay("ListGroups", seconds=0.8)
    patient = connection(kafka.bootstrap_servers, timeout_s=2)
    with Wire(patient.brokers[0], patient) as wire:
        told = [wire.ask(ListGroupsRequest(), ListGroupsResponse, 0) for _ in range(3)]
    assert [answer.error_code for answer in told] == [0, 0, 0]


def test_a_hundred_groups_go_in_a_request() -> None:
    sizes: dict[str, list[int]] = {}

    def recorded(name: str, field: str) -> Handle:
        async def handle(context: Context, request: Any) -> Any:
            sizes.setdefault(name, []).append(len(getattr(request, field)))
            return await handle_of(name)(context, request)

        return handle

    fields = {"DescribeGroups": "groups", "DeleteGroups": "groups_names"}
    names = [f"g{number}" for number in range(250)]
    with altered_broker({name: recorded(name, field) for name, field in fields.items()}) as broker:
        asked = coordinators(broker, timeout_s=10)
        assert list(asked.ask(names, describe)) == names
        told = asked.ask(names, delete())
    assert set(told.values()) == {ErrorCode.GROUP_ID_NOT_FOUND}
    assert sizes == {name: [100, 100, 50] for name in fields}


def test_requests_that_are_large_wait_for_answers_that_are_large() -> None:
    """A broker whose answers nobody takes reads no more."""

    async def delete_groups(context: Context, request: Any) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(results=[DeletableGroupResult(group_id="x" * 10_000)] * 100)

    requests = [DeleteGroupsRequest(groups_names=["x" * 10_000] * 100)] * 40
    with altered_broker({"DeleteGroups": delete_groups}) as bootstrap:
        patient = connection(bootstrap, timeout_s=20)
        with Wire(patient.brokers[0], patient) as wire:
            assert len([*wire.ask_each(requests, DeleteGroupsResponse, 2)]) == len(requests)


def test_a_coordinator_that_is_not_available_is_asked_more_and_more_seldom(kafka: Kafka) -> None:
    kafka.faults.error("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
    broker = connection_of(kafka.bootstrap_servers).brokers[0]
    with SwitchedProxy(*broker) as proxy:
        told = coordinators(proxy.address, timeout_s=1).ask(["g"], committed())
        assert told == {"g": ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert 2 <= proxy.accepted <= 10


def test_a_name_that_cannot_be_sent_is_one_complaint(
    kafka: Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = Commands(kafka.bootstrap_servers, capfd)
    for command in ("describe", "delete"):
        told = commands.complain("group", command, "\udcff")
        assert "FindCoordinator cannot be asked with such a name ('utf-8' codec can't" in told
        assert told.endswith("give one of UTF-8, and of less than 32,768 bytes\n")


def test_a_broker_of_an_impossible_name_is_one_complaint(
    capfd: pytest.CaptureFixture[str],
) -> None:
    told = Commands("a..b:9092", capfd).complain("group", "describe", "g")
    assert "nothing answers at a..b:9092 (no host can have that name)" in told
