"""Describing groups: in which protocol their coordinator is asked, and about how many at once."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kafkaesque.client.connection import RefusedError, UnsupportedError
from kafkaesque.client.coordinators import Coordinator
from kafkaesque.client.group_requests import Description, describe
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroup,
)
from kafkaesque.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse


class FakeWire:
    """A coordinator of groups that are of no protocol but the classic. `asked` are its requests."""

    def __init__(self, refusal: RefusedError | None = None) -> None:
        self.asked: list[Any] = []
        self._refusal = refusal

    def ask_each(self, requests: Sequence[Any], *_: object, **__: object) -> Iterator[Any]:
        if self._refusal is not None and isinstance(requests[0], ConsumerGroupDescribeRequest):
            raise self._refusal
        self.asked += requests
        yield from map(_answer, requests)


def _answer(request: Any) -> Any:
    if isinstance(request, ConsumerGroupDescribeRequest):
        code = ErrorCode.GROUP_ID_NOT_FOUND
        unknown = [
            DescribedConsumerGroup(group_id=name, error_code=code) for name in request.group_ids
        ]
        return ConsumerGroupDescribeResponse(groups=unknown)
    groups = [DescribedGroup(group_id=name, group_state="Empty") for name in request.groups]
    return DescribeGroupsResponse(groups=groups)


def test_a_hundred_groups_go_in_a_request_of_either_protocol() -> None:
    wire: Any = FakeWire()
    names = [f"g{number}" for number in range(250)]
    assert list(dict(describe(Coordinator(3, wire), names))) == names
    new, classic = wire.asked[:3], wire.asked[3:]
    assert [len(request.group_ids) for request in new] == [100, 100, 50]
    assert [len(request.groups) for request in classic] == [100, 100, 50]


def test_a_broker_without_the_new_protocol_is_asked_in_the_classic_one() -> None:
    wire: Any = FakeWire(UnsupportedError("it knows no ConsumerGroupDescribe"))
    assert dict(describe(Coordinator(3, wire), ["g"])) == {"g": Description("Empty", 3, "", [])}


def test_a_login_that_is_refused_says_nothing_of_protocols() -> None:
    wire: Any = FakeWire(RefusedError("it does not let 'me' in"))
    with pytest.raises(RefusedError, match="does not let 'me' in"):
        dict(describe(Coordinator(3, wire), ["g"]))
    assert wire.asked == []
