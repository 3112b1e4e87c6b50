"""What a client must not send: it is refused in the protocol's own words, and no other notices."""

import struct
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaError
from crc32c import crc32c
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.wire.client import RawClient
from tests.wire.requests import batch, produce, produce_answer

from kafkaesque.broker.server import wall_clock
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.codec import decode
from kafkaesque.protocol.header import decode_response_header
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkaesque.protocol.messages.produce import ProduceResponse
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.records.compression import Codec


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("bad-input") / "data") as process:
        yield process


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    """A topic with one record."""
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["good"])
    return topic


def _flipped(batch: bytearray, at: int) -> bytearray:
    batch[at] ^= 0xFF
    return batch


def _packed(batch: bytearray, at: int, layout: str, value: int) -> bytearray:
    """A header field changed, and the CRC made right again."""
    struct.pack_into(layout, batch, at, value)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return batch


BAD_BATCHES: dict[str, tuple[Callable[[], bytearray], str]] = {
    "a flipped byte in a record": (lambda: _flipped(batch([b"value"]), -2), "CORRUPT_MESSAGE"),
    "a flipped byte in the header": (lambda: _flipped(batch([b"v"]), 30), "CORRUPT_MESSAGE"),
    "a wrong CRC": (lambda: _flipped(batch([b"value"]), 17), "CORRUPT_MESSAGE"),
    "half a batch": (lambda: batch([b"value" * 100])[:-100], "INVALID_RECORD"),
    "two batches": (lambda: batch([b"a"]) + batch([b"b"]), "INVALID_RECORD"),
    "a wrong count": (lambda: _packed(batch([b"v"]), 57, ">i", 2), "INVALID_RECORD"),
    "no records": (lambda: _packed(batch([b"v"]), 57, ">i", 0), "INVALID_RECORD"),
    "a control batch": (lambda: batch([b"v"], control=True), "INVALID_RECORD"),
    "a codec that is none": (lambda: _packed(batch([b"v"]), 21, ">h", 7), "INVALID_RECORD"),
    "a producer without a sequence": (
        lambda: batch([b"v"], producer=(5, 0, -1)),
        "INVALID_RECORD",
    ),
    "nothing": (bytearray, "INVALID_RECORD"),
    "too much": (lambda: batch([b"x" * 1_048_588]), "MESSAGE_TOO_LARGE"),
    "a time to come": (
        lambda: new_batch([Record(0, wall_clock() + 7_200_000, None, b"v", ())]),
        "INVALID_TIMESTAMP",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", BAD_BATCHES)
def test_a_bad_batch_is_refused_and_nothing_is_written(
    broker: BrokerProcess, topic: str, what: str
) -> None:
    make, code = BAD_BATCHES[what]
    segment = broker.data_dir / f"{topic}-0" / "00000000000000000000.log"
    before = segment.read_bytes()
    with RawClient(broker.bootstrap) as client:
        answer = produce_answer(client.call(produce(topic, 0, make()), ProduceResponse, 9))
        assert (ErrorCode(answer.error_code).name, answer.base_offset) == (code, -1)
        assert segment.read_bytes() == before
        good = produce_answer(client.call(produce(topic, 0, batch([b"next"])), ProduceResponse, 9))
        assert (good.error_code, good.base_offset) == (0, 1)
    assert foreign.values(foreign.read(broker.bootstrap, topic, 2)) == [b"good", b"next"]


def test_a_bad_partition_does_not_spoil_the_others_of_its_request(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=2)
    request = produce(topic, 0, _flipped(batch([b"v"]), 17))
    request.topic_data += produce(topic, 1, batch([b"v"])).topic_data
    request.topic_data += produce("no-such-topic", 0, batch([b"v"])).topic_data
    with RawClient(broker.bootstrap) as client:
        answered = client.call(request, ProduceResponse, 9).responses
    codes = [topic.partition_responses[0].error_code for topic in answered]
    assert codes == [
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_zstd_is_refused_where_the_version_does_not_know_it(
    broker: BrokerProcess, topic: str
) -> None:
    with RawClient(broker.bootstrap) as client:
        request = produce(topic, 0, batch([b"v"], codec=Codec.ZSTD))
        old = produce_answer(client.call(request, ProduceResponse, 6))
        new = produce_answer(client.call(request, ProduceResponse, 7))
    assert old.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert (new.error_code, new.base_offset) == (0, 1)


def test_a_compacted_topic_refuses_records_without_a_key(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, configs={"cleanup.policy": "compact"})
    code = foreign.refusal(foreign.produce, broker.bootstrap, topic, ["no key"], retries=0)
    assert code == KafkaError.INVALID_RECORD
    keys = [b"k", None, b"k", None]
    records = [Record(i, wall_clock(), key, b"v", ()) for i, key in enumerate(keys)]
    with RawClient(broker.bootstrap) as client:
        request = produce(topic, 0, new_batch(records))
        answer = produce_answer(client.call(request, ProduceResponse, 9))
    assert [error.batch_index for error in answer.record_errors] == [1, 3]
    assert foreign.watermarks(broker.bootstrap, topic) == (0, 0)


@pytest.mark.parametrize("acks", [-2, 2, 7])
def test_acks_that_mean_nothing_are_refused(broker: BrokerProcess, topic: str, acks: int) -> None:
    with RawClient(broker.bootstrap) as client:
        request = produce(topic, 0, batch([b"v"]), acks)
        answer = produce_answer(client.call(request, ProduceResponse, 9))
    assert answer.error_code == ErrorCode.INVALID_REQUIRED_ACKS


BAD_FRAMES = {
    "not a request": b"\x00\x00\x00\x0cGET / HTTP/1",
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a frame larger than the limit": struct.pack(">i", 104_857_601),
    "a negative size": struct.pack(">i", -1),
    "no room for a header": struct.pack(">i", 2) + b"\0\0",
    "an API that there is none of": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "a version that there is none of": struct.pack(">ihhih", 10, 3, 99, 1, -1),
    "a request cut short": struct.pack(">ihhih", 10, 3, 1, 1, -1),
    "an array of two thousand million": struct.pack(">ihhihi", 14, 3, 1, 1, -1, 2**31 - 1),
}


@pytest.mark.parametrize("what", BAD_FRAMES)
def test_a_bad_frame_closes_its_connection_alone_with_one_line(
    broker: BrokerProcess, topic: str, what: str
) -> None:
    lines = len(broker.log.splitlines())
    with RawClient(broker.bootstrap) as bystander, RawClient(broker.bootstrap) as client:
        client.send_bytes(BAD_FRAMES[what])
        assert client.is_closed_by_broker()
        assert bystander.call(ListGroupsRequest(), ListGroupsResponse, 0).error_code == 0
    (line,) = broker.log.splitlines()[lines:]
    assert "closing connection from 127.0.0.1" in line
    assert foreign.values(foreign.read(broker.bootstrap, topic, 1)) == [b"good"]


def test_an_unknown_version_of_api_versions_is_answered_with_what_there_is(
    broker: BrokerProcess,
) -> None:
    with RawClient(broker.bootstrap) as client:
        client.send_bytes(struct.pack(">ihhihb", 11, 18, 99, 7, -1, 0))
        data = client.receive_frame()
        correlation_id, position = decode_response_header(data, flexible=False)
        answer = decode(ApiVersionsResponse, 0, data, position)
        assert (correlation_id, answer.error_code) == (7, ErrorCode.UNSUPPORTED_VERSION)
        assert {18, 0, 1} <= {api.api_key for api in answer.api_keys}
        known = ApiVersionsRequest(client_software_name="x")
        assert client.call(known, ApiVersionsResponse, 3).error_code == 0


def test_a_commit_that_is_to_be_kept_for_ever_is_kept(broker: BrokerProcess) -> None:
    """OffsetCommit 2 to 4 say for how long; now and the longest time are more than an int64."""
    topic = foreign.create_topic(broker.bootstrap)
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    request = OffsetCommitRequest(
        group_id="patient",
        retention_time_ms=2**63 - 1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )
    with RawClient(broker.bootstrap) as client:
        response = client.call(request, OffsetCommitResponse, 4)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert foreign.committed(broker.bootstrap, "patient", topic).offset == 7
