"""A connection takes frames however the network cuts them, and answers in the order of the asking.

Bad bytes cost the connection that sent them, and one line in the log; nobody else notices.
"""

import random
import struct
from collections.abc import Callable, Iterator

import pytest
from tests.broker_process import BrokerProcess
from tests.wire.client import RawClient
from tests.wire.requests import batch, create_topic, fetch, produce, produce_answer

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.codec import decode
from kafkaesque.protocol.header import decode_response_header
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.fetch import FetchResponse
from kafkaesque.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkaesque.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkaesque.protocol.messages.produce import ProduceResponse

TOPIC = "wire"
_LENGTH = struct.Struct(">i")

Sender = Callable[[RawClient, list[bytes]], None]


@pytest.fixture(scope="module")
def wire_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for the file: no test here leaves anything behind that another one sees."""
    with BrokerProcess(tmp_path_factory.mktemp("wire") / "data") as process:
        with RawClient(process.bootstrap) as client:
            client.call(create_topic(TOPIC, 2), CreateTopicsResponse, 7)
        yield process


@pytest.fixture
def connect(wire_broker: BrokerProcess) -> Iterator[Callable[[], RawClient]]:
    clients: list[RawClient] = []

    def new_client() -> RawClient:
        clients.append(RawClient(wire_broker.bootstrap))
        return clients[-1]

    yield new_client
    for client in clients:
        client.close()


def _metadata() -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])


def _whole(client: RawClient, frames: list[bytes]) -> None:
    for frame in frames:
        client.send_bytes(frame)


def _byte_by_byte(client: RawClient, frames: list[bytes]) -> None:
    for frame in frames:
        for byte in frame:
            client.send_bytes(bytes([byte]))


def _in_one_write(client: RawClient, frames: list[bytes]) -> None:
    client.send_bytes(b"".join(frames))


def _split_at_random(client: RawClient, frames: list[bytes]) -> None:
    data, rng = b"".join(frames), random.Random(3)
    while data:
        size = rng.randint(1, 40)
        client.send_bytes(data[:size])
        data = data[size:]


@pytest.fixture(scope="module")
def repeatable(wire_broker: BrokerProcess) -> list[tuple[object, int]]:
    """Requests whose answers are the same every time; the produce is a retry of itself."""
    with RawClient(wire_broker.bootstrap) as client:
        found = client.call(InitProducerIdRequest(), InitProducerIdResponse, 4)
        records = batch([b"a", b"b"], producer=(found.producer_id, found.producer_epoch, 0))
        client.call(produce(TOPIC, 0, records), ProduceResponse, 9)
    return [
        (ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3),
        (_metadata(), 9),
        (produce(TOPIC, 0, records), 9),
        (fetch(TOPIC, 0, 0), 11),
        (_metadata(), 1),
        (produce(TOPIC, 0, records), 3),
        (fetch(TOPIC, 0, 2, max_wait_ms=20), 4),
        (ApiVersionsRequest(), 0),
    ]


@pytest.mark.parametrize("send", [_whole, _byte_by_byte, _in_one_write, _split_at_random])
def test_frames_are_answered_alike_however_they_are_cut(
    send: Sender, connect: Callable[[], RawClient], repeatable: list[tuple[object, int]]
) -> None:
    one_at_a_time, client = connect(), connect()
    expected = []
    for request, version in repeatable:
        one_at_a_time.send(request, version)
        expected.append(one_at_a_time.receive())
    send(client, [client.frame(request, version) for request, version in repeatable])
    assert [client.receive() for _ in repeatable] == expected
    assert produce_answer(expected[2]).error_code == ErrorCode.NONE
    assert expected[3].responses[0].partitions[0].records


def test_a_frame_larger_than_any_buffer_arrives_in_pieces(
    connect: Callable[[], RawClient],
) -> None:
    client, rng = connect(), random.Random(5)
    value = rng.randbytes(3_000_000)
    big = create_topic("big", 1, max_message_bytes="4000000")
    client.call(big, CreateTopicsResponse, 7)
    data = client.frame(produce("big", 0, batch([value])), 9) + client.frame(_metadata(), 9)
    while data:
        size = rng.choice((1, 3, 5_000, 300_000, 1_100_000))
        client.send_bytes(data[:size])
        data = data[size:]
    assert produce_answer(client.receive()).base_offset == 0
    assert client.receive().topics[0].name == TOPIC
    found = client.call(fetch("big", 0, 0), FetchResponse, 11).responses[0].partitions[0]
    assert found.records is not None
    assert value in bytes(found.records)


def test_pipelined_responses_come_in_the_order_of_the_requests(
    connect: Callable[[], RawClient],
) -> None:
    """The long poll finds nothing; what comes after it is ready at once, and waits its turn."""
    client = connect()
    end = _end_offset(client, 1)
    client.send(fetch(TOPIC, 1, end, max_wait_ms=150), 11)
    client.send(_metadata(), 9)
    client.send(produce(TOPIC, 0, batch([b"x"])), 9)
    client.send(fetch(TOPIC, 0, 0), 11)
    kinds = [type(client.receive()) for _ in range(4)]
    assert kinds == [FetchResponse, MetadataResponse, ProduceResponse, FetchResponse]


def test_a_client_that_does_not_read_is_answered_in_full_once_it_does(
    connect: Callable[[], RawClient],
) -> None:
    """More requests than a connection may have in flight, and more bytes than sockets hold."""
    client = connect()
    client.call(produce(TOPIC, 0, batch([bytes(200_000)])), ProduceResponse, 9)
    count = 400
    for number in range(count):
        start = number % 2
        client.send(fetch(TOPIC, 0, start, max_wait_ms=start), 11)
    sizes = [_size_of(client.receive()) for _ in range(count)]
    assert min(sizes) > 200_000


def test_acks_0_has_no_response_and_keeps_the_others_in_order(
    connect: Callable[[], RawClient],
) -> None:
    client = connect()
    end = _end_offset(client, 1)
    client.send(_metadata(), 9)
    client.send(produce(TOPIC, 1, batch([b"quiet"]), acks=0), 9)
    client.send(produce(TOPIC, 1, batch([b"loud"])), 9)
    client.send(produce(TOPIC, 1, batch([b"quiet"]), acks=0), 9)
    client.send(fetch(TOPIC, 1, end), 11)
    assert isinstance(client.receive(), MetadataResponse)
    loud = client.receive()
    assert isinstance(loud, ProduceResponse)
    assert produce_answer(loud).base_offset == end + 1
    assert isinstance(client.receive(), FetchResponse)


def test_acks_0_that_cannot_be_appended_closes_the_connection(
    connect: Callable[[], RawClient],
) -> None:
    client = connect()
    client.send(produce("no-such-topic", 0, batch([b"lost"]), acks=0), 9)
    assert client.is_closed_by_broker()


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(_LENGTH.pack(2**31 - 1), id="two gigabytes"),
        pytest.param(_LENGTH.pack(100 * 2**20 + 1), id="one byte over the limit"),
        pytest.param(_LENGTH.pack(-1), id="negative"),
        pytest.param(_LENGTH.pack(0), id="empty"),
        pytest.param(_LENGTH.pack(40) + b"\xff" * 40, id="garbage"),
        pytest.param(_LENGTH.pack(14) + struct.pack(">hhihI", 3, 9, 1, -1, 0), id="cut short"),
        pytest.param(_LENGTH.pack(10) + struct.pack(">hhih", 999, 0, 1, -1), id="unknown API"),
        pytest.param(_LENGTH.pack(10) + struct.pack(">hhih", 3, 99, 1, -1), id="unknown version"),
        pytest.param(_LENGTH.pack(10) + struct.pack(">hhih", 7, 0, 1, -1), id="cluster-only API"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="another protocol"),
    ],
)
def test_a_bad_frame_closes_its_connection_alone_with_one_line(
    bad: bytes, connect: Callable[[], RawClient], wire_broker: BrokerProcess
) -> None:
    client, neighbour = connect(), connect()
    neighbour.send(fetch(TOPIC, 1, _end_offset(neighbour, 1), max_wait_ms=200), 11)
    before = wire_broker.log
    client.send_bytes(bad)
    assert client.is_closed_by_broker()
    said = wire_broker.log[len(before) :].splitlines()
    assert len(said) == 1
    assert "closing connection from 127.0.0.1" in said[0]
    assert isinstance(neighbour.receive(), FetchResponse)
    neighbour.call(_metadata(), MetadataResponse, 9)


def test_what_was_asked_before_the_bad_frame_is_still_answered(
    connect: Callable[[], RawClient],
) -> None:
    client = connect()
    client.send_bytes(client.frame(_metadata(), 9) + _LENGTH.pack(-7))
    assert client.receive().topics[0].name == TOPIC
    assert client.is_closed_by_broker()


def test_an_unknown_version_of_api_versions_is_told_the_known_ones(
    connect: Callable[[], RawClient],
) -> None:
    client = connect()
    header = struct.pack(">hhih", 18, 99, 77, -1) + b"\x00"
    client.send_bytes(_LENGTH.pack(len(header)) + header)
    data = client.receive_frame()
    correlation_id, position = decode_response_header(data, flexible=False)
    answer = decode(ApiVersionsResponse, 0, data, position)
    assert (correlation_id, answer.error_code) == (77, ErrorCode.UNSUPPORTED_VERSION)
    versions = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert versions[18] == (0, 4)
    assert versions[0] == (0, 13)
    assert not client.call(ApiVersionsRequest(), ApiVersionsResponse, 0).error_code


def _size_of(response: FetchResponse) -> int:
    return sum(len(p.records or b"") for topic in response.responses for p in topic.partitions)


def _end_offset(client: RawClient, partition: int) -> int:
    answer = client.call(fetch(TOPIC, partition, 0), FetchResponse, 11)
    return answer.responses[0].partitions[0].high_watermark
