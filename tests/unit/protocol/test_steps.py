"""The codec in steps: the same messages and the same bytes, with room for others in between."""

from collections.abc import Generator
from typing import Any, TypeVar

import pytest
from tests.unit.protocol.samples import CASES, VALUES, name_of, sample

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.codec import (
    decode,
    decode_in_steps,
    encode,
    encode_in_steps,
    taken_apart,
)
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.heartbeat import HeartbeatRequest
from kafkaesque.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkaesque.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkaesque.protocol.source import (
    BYTES_PER_ELEMENT,
    ELEMENTS_IN_A_STEP,
    NUMBERS_IN_A_STEP,
)

T = TypeVar("T")

PLENTY = 1_000_000
TEXT = "\U0001f600" + "x" * (ELEMENTS_IN_A_STEP // 4 * BYTES_PER_ELEMENT["string"] - 4)
"""Four of them are a step. For its one emoji Python has four bytes for each of its characters."""


def taken(steps: Generator[None, None, T]) -> tuple[int, T]:
    """How often others could go on, and what came out."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return pauses, end.value
        pauses += 1


def fetch(partitions: int) -> FetchRequest:
    wanted = [FetchPartition(partition=number) for number in range(partitions)]
    return FetchRequest(topics=[FetchTopic(topic="t", partitions=wanted)])


def encoded(message: object, version: int) -> bytes:
    return b"".join(map(bytes, encode(message, version)))


@pytest.mark.parametrize("version", [4, 11, 12])
@pytest.mark.parametrize("partitions", [0, 1, ELEMENTS_IN_A_STEP - 1, 1000])
def test_what_is_decoded_and_encoded_in_steps_is_the_same(version: int, partitions: int) -> None:
    request = fetch(partitions)
    data = encoded(request, version)
    pauses, decoded = taken(decode_in_steps(FetchRequest, version, data, 0, PLENTY))
    assert decoded == decode(FetchRequest, version, data)
    assert pauses == (partitions + 1) // ELEMENTS_IN_A_STEP
    pauses, chunks = taken(encode_in_steps(request, version))
    assert b"".join(map(bytes, chunks)) == data
    assert pauses == (partitions + 1) // ELEMENTS_IN_A_STEP


@pytest.mark.parametrize("topics", [1, 10])
def test_numbers_are_decoded_in_steps_wherever_they_are(topics: int) -> None:
    numbers = list(range(10 * NUMBERS_IN_A_STEP // topics + 1))
    wanted = [
        ListPartitionReassignmentsTopics(name="t", partition_indexes=numbers) for _ in range(topics)
    ]
    request = ListPartitionReassignmentsRequest(topics=wanted)
    data = encoded(request, 0)
    pauses, decoded = taken(decode_in_steps(ListPartitionReassignmentsRequest, 0, data, 0, PLENTY))
    assert decoded == request
    assert pauses == 10


def test_a_message_without_arrays_takes_one_step() -> None:
    request = HeartbeatRequest(group_id="g")
    data = encoded(request, 4)
    assert taken(decode_in_steps(HeartbeatRequest, 4, data, 0, 0)) == (0, request)
    assert taken(encode_in_steps(request, 4))[0] == 0


@pytest.mark.parametrize("version", [0, 5])
def test_long_texts_count_for_more_than_one_element(version: int) -> None:
    request = DescribeGroupsRequest(groups=[TEXT] * 40)
    data = encoded(request, version)
    steps = decode_in_steps(DescribeGroupsRequest, version, data, 0, len(request.groups))
    assert taken(steps) == (10, request)
    pauses, chunks = taken(encode_in_steps(request, version))
    assert (pauses, b"".join(map(bytes, chunks))) == (10, data)


@pytest.mark.parametrize("version", [0, 5])
def test_short_texts_do_not(version: int) -> None:
    request = DescribeGroupsRequest(groups=["x" * 500] * (ELEMENTS_IN_A_STEP - 1))
    data = encoded(request, version)
    steps = decode_in_steps(DescribeGroupsRequest, version, data, 0, PLENTY)
    assert taken(steps) == (0, request)
    assert taken(encode_in_steps(request, version))[0] == 0


def test_long_texts_outside_arrays_count_too() -> None:
    request = SyncGroupRequest(
        group_id=TEXT, member_id=TEXT, group_instance_id=TEXT, protocol_type=TEXT
    )
    data = encoded(request, 5)
    assert taken(decode_in_steps(SyncGroupRequest, 5, data, 0, PLENTY)) == (1, request)
    assert taken(encode_in_steps(request, 5))[0] == 1


@pytest.mark.parametrize("version", [3, 5])
def test_bytes_that_are_copied_count_for_their_size(version: int) -> None:
    step = bytes(ELEMENTS_IN_A_STEP * BYTES_PER_ELEMENT["bytes"])
    request = SyncGroupRequest(assignments=[SyncGroupRequestAssignment(assignment=step)] * 3)
    data = encoded(request, version)
    assert taken(decode_in_steps(SyncGroupRequest, version, data, 0, PLENTY)) == (3, request)
    assert taken(encode_in_steps(request, version))[0] == 3


@pytest.mark.parametrize("version", [3, 9])
def test_records_are_one_element_whatever_their_size(version: int) -> None:
    written = PartitionProduceData(records=bytes(1 << 20))
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[written])])
    data = encoded(request, version)
    assert taken(decode_in_steps(ProduceRequest, version, data, 0, PLENTY)) == (0, request)
    assert taken(encode_in_steps(request, version))[0] == 0


def test_more_elements_than_are_allowed_are_refused_before_they_are_made() -> None:
    data = encoded(fetch(1000), 11)
    assert taken(decode_in_steps(FetchRequest, 11, data, 0, 1001))[1] == fetch(1000)
    with pytest.raises(DecodeError, match="too many elements"):
        taken(decode_in_steps(FetchRequest, 11, data, 0, 1000))


def test_what_is_cut_short_is_refused_in_steps_too() -> None:
    data = encoded(fetch(1000), 11)
    for cut in (0, 1, len(data) // 2, len(data) - 1):
        with pytest.raises(DecodeError):
            taken(decode_in_steps(FetchRequest, 11, data[:cut], 0, PLENTY))


def test_thousands_of_tagged_fields_are_refused() -> None:
    tags = bytes((200, 1, 0)) * 1001
    with pytest.raises(DecodeError, match="1001 tagged fields"):
        decode(ApiVersionsRequest, 3, b"\x01\x01\xe9\x07" + tags)


def test_what_others_hold_too_is_not_taken_apart() -> None:
    shared = MetadataResponsePartition(replica_nodes=[0], isr_nodes=[0])
    names = [MetadataResponseTopic(name=f"{i}", partitions=[shared] * 3) for i in range(500)]
    kept = names[7]
    response = MetadataResponse(topics=names, brokers=[])
    taken(taken_apart(response))
    assert len(names) == 500
    del names
    steps, _ = taken(taken_apart(response))
    assert steps > 1
    assert response.topics == []
    assert shared == MetadataResponsePartition(replica_nodes=[0], isr_nodes=[0])
    assert kept.partitions == [shared] * 3


def test_elements_of_which_nothing_is_to_be_taken_are_steps_too() -> None:
    shared = [0]
    partitions = [
        MetadataResponsePartition(replica_nodes=shared, isr_nodes=shared) for _ in range(10_000)
    ]
    response = MetadataResponse(topics=[MetadataResponseTopic(partitions=partitions)])
    del partitions
    steps, _ = taken(taken_apart(response))
    # Each is an element, and looked at.
    assert steps > 1.9 * 10_000 / 128
    assert shared == [0]


@pytest.mark.parametrize(("cls", "version"), CASES, ids=name_of)
def test_every_message_is_the_same_in_steps(cls: type[Any], version: int) -> None:
    message = sample(cls, version)
    data = encoded(message, version)
    assert b"".join(map(bytes, taken(encode_in_steps(message, version))[1])) == data
    assert taken(decode_in_steps(cls, version, data, 0, PLENTY))[1] == decode(cls, version, data)


@pytest.mark.parametrize(("cls", "version"), CASES, ids=name_of)
def test_every_message_is_the_same_in_steps_with_long_texts(
    cls: type[Any], version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VALUES, "string", TEXT)
    monkeypatch.setitem(VALUES, "bytes", bytes(BYTES_PER_ELEMENT["bytes"] * ELEMENTS_IN_A_STEP))
    message = sample(cls, version)
    data = encoded(message, version)
    assert b"".join(map(bytes, taken(encode_in_steps(message, version))[1])) == data
    assert taken(decode_in_steps(cls, version, data, 0, PLENTY))[1] == decode(cls, version, data)
