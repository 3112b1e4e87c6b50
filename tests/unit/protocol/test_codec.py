"""What the codec promises beyond kio's bytes: references, defaults, tagged fields, versions.

Records must not be copied on the way in or out; fields that a version lacks keep their defaults;
what a newer client adds as a tagged field is skipped.
"""

from typing import Any
from uuid import UUID

import pytest

from kafkaesque.errors import DecodeError, ErrorCode, KafkaError
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkaesque.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from kafkaesque.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
    ReplicaState,
)
from kafkaesque.protocol.messages.heartbeat import HeartbeatResponse
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.protocol.messages.sync_group import SyncGroupResponse
from kafkaesque.types import Buffer

RECORDS = bytes(range(256)) * 40


def encoded(message: object, version: int) -> bytes:
    return b"".join(encode(message, version))


def produce(records: Buffer | None) -> ProduceRequest:
    partition = PartitionProduceData(index=0, records=records)
    return ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])


def records_of(request: ProduceRequest) -> Buffer | None:
    return request.topic_data[0].partition_data[0].records


@pytest.mark.parametrize("version", [3, 9])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_decoded_records_are_a_view_into_the_frame(version: int, kind: Any) -> None:
    frame = kind(encoded(produce(RECORDS), version))
    records = records_of(decode(ProduceRequest, version, frame))
    assert isinstance(records, memoryview)
    assert records.obj is (frame.obj if isinstance(frame, memoryview) else frame)
    assert records == RECORDS


@pytest.mark.parametrize("version", [4, 12, 18])
def test_encoded_records_are_chunks_by_reference(version: int) -> None:
    first, second = memoryview(RECORDS)[:5000], bytearray(RECORDS)
    partitions = [PartitionData(records=first), PartitionData(), PartitionData(records=second)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    chunks = encode(response, version)
    assert [chunk for chunk in chunks if chunk is first or chunk is second] == [first, second]
    decoded = decode(FetchResponse, version, b"".join(chunks))
    assert [p.records for p in decoded.responses[0].partitions] == [first, None, second]


@pytest.mark.parametrize("version", [3, 9])
def test_null_and_empty_records_are_told_apart(version: int) -> None:
    assert records_of(decode(ProduceRequest, version, encoded(produce(None), version))) is None
    assert records_of(decode(ProduceRequest, version, encoded(produce(b""), version))) == b""


def test_a_message_starts_at_the_position_given() -> None:
    frame = b"header" + encoded(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert decode(DeleteGroupsRequest, 2, frame, 6).groups_names == ["g"]


def test_a_message_without_fields_has_no_bytes() -> None:
    assert encode(ListGroupsRequest(), 0) == []
    assert decode(ListGroupsRequest, 0, b"") == ListGroupsRequest()


def test_fields_of_other_versions_are_left_out_and_keep_their_defaults() -> None:
    request = FetchRequest(max_wait_ms=7, session_id=8, rack_id="rack", cluster_id="c")
    decoded = decode(FetchRequest, 4, encoded(request, 4))
    assert decoded == FetchRequest(max_wait_ms=7)
    assert decoded.session_epoch == -1


def test_decoded_messages_do_not_share_their_default_lists() -> None:
    frame = encoded(FetchRequest(), 4)
    first, second = decode(FetchRequest, 4, frame), decode(FetchRequest, 4, frame)
    first.forgotten_topics_data.append(Any)  # type: ignore[arg-type]
    assert second.forgotten_topics_data == []


def test_an_error_code_is_encoded_as_its_number() -> None:
    response = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    assert encoded(response, 0) == b"\x00\x1b"


@pytest.mark.parametrize("version", [2, 19, -1])
def test_a_version_that_is_not_declared_is_refused(version: int) -> None:
    for attempt in (
        lambda: encode(FetchRequest(), version),
        lambda: decode(FetchRequest, version, b""),
    ):
        with pytest.raises(KafkaError, match="versions 4 to 18") as caught:
            attempt()
        assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("length", [0, 126, 127, 128, 16_382, 16_383, 2_097_150, 2_097_151])
def test_lengths_around_the_size_of_a_varint_survive(length: int) -> None:
    response = SyncGroupResponse(assignment=b"x" * length)
    assert decode(SyncGroupResponse, 5, encoded(response, 5)) == response


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 20_000])
def test_arrays_of_any_length_survive(count: int) -> None:
    request = DeleteGroupsRequest(groups_names=["g"] * count)
    assert decode(DeleteGroupsRequest, 2, encoded(request, 2)) == request


def test_unknown_tagged_fields_are_skipped() -> None:
    name_and_version = b"\x02a\x02b"
    unknown = b"\x02" + b"\x05\x03xyz" + b"\x80\x01\x00"
    decoded = decode(ApiVersionsRequest, 3, name_and_version + unknown)
    assert decoded == ApiVersionsRequest(client_software_name="a", client_software_version="b")


def test_unknown_tagged_fields_beside_known_ones_are_skipped() -> None:
    known = encoded(ApiVersionsResponse(finalized_features_epoch=9), 3)
    assert known.endswith(b"\x01" + b"\x01\x08" + (9).to_bytes(8, "big"))
    more = known[:-11] + b"\x02" + known[-10:] + b"\x63\x01?"
    assert decode(ApiVersionsResponse, 3, more) == ApiVersionsResponse(finalized_features_epoch=9)


def test_more_than_127_unknown_tagged_fields_are_skipped() -> None:
    tags = b"".join(bytes((200, 1, 0)) for _ in range(200))
    assert decode(ApiVersionsRequest, 3, b"\x01\x01\xc8\x01" + tags) == ApiVersionsRequest()
    response = encoded(ApiVersionsResponse(), 3)
    assert decode(ApiVersionsResponse, 3, response[:-1] + b"\xc8\x01" + tags) == (
        ApiVersionsResponse()
    )


@pytest.mark.parametrize("size", [b"\x07", b"\x09"])
def test_a_tagged_field_whose_size_is_wrong_is_refused(size: bytes) -> None:
    known = encoded(ApiVersionsResponse(finalized_features_epoch=9), 3)
    wrong = known[:-9] + size + known[-8:] + b"\x00"
    with pytest.raises(DecodeError, match="tagged field 1 has a wrong size"):
        decode(ApiVersionsResponse, 3, wrong)


def test_a_tagged_struct_is_none_when_it_is_absent_and_is_left_out_when_it_is_default() -> None:
    absent = encoded(FetchRequest(), 15)
    assert encoded(FetchRequest(replica_state=ReplicaState()), 15) == absent
    assert decode(FetchRequest, 15, absent).replica_state is None
    present = FetchRequest(replica_state=ReplicaState(replica_id=3), cluster_id="c")
    assert decode(FetchRequest, 15, encoded(present, 15)) == present


def test_tagged_fields_are_written_in_the_order_of_their_tags() -> None:
    leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=2)
    partition = PartitionData(current_leader=leader)
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])
    tags = b"\x01" + b"\x01\x09" + b"\0\0\0\1" + b"\0\0\0\2" + b"\0"
    assert encoded(response, 12).endswith(tags + b"\0\0")


def test_a_nullable_struct_says_whether_it_is_there() -> None:
    without = DescribeTopicPartitionsRequest(response_partition_limit=1)
    assert encoded(without, 0) == b"\x01\0\0\0\1\xff\0"
    there = DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="t", partition_index=1))
    assert decode(DescribeTopicPartitionsRequest, 0, encoded(there, 0)) == there


def test_a_uuid_is_sixteen_bytes_in_order() -> None:
    topic_id = UUID("01020304-0506-0708-090a-0b0c0d0e0f10")
    response = FetchResponse(responses=[FetchableTopicResponse(topic_id=topic_id)])
    data = encoded(response, 13)
    assert bytes(range(1, 17)) in data
    assert decode(FetchResponse, 13, data).responses[0].topic_id == topic_id
