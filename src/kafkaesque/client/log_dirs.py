"""How many bytes of disk each partition takes: DescribeLogDirs, which confluent-kafka cannot ask.

So this speaks the protocol itself, with our own codec on a plain socket: one request, one answer,
version 1, which every Kafka since 2.0 knows. It knows neither TLS nor SASL. With several replicas
the size is that of the largest. Above: console/. Below: protocol/.
"""

import socket
from collections.abc import Iterable

from kafkaesque.client.connection import CLIENT_ID, Address, ClusterError
from kafkaesque.errors import DecodeError
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import SIZE_BYTES, frame, frame_size
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)
from kafkaesque.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafkaesque.types import TopicPartition

_API_KEY = 35
_VERSION = 1


def partition_sizes(brokers: Iterable[Address], timeout_s: float) -> dict[TopicPartition, int]:
    """The size of every partition on these brokers. Raises ClusterError if one does not answer."""
    sizes: dict[TopicPartition, int] = {}
    for broker in brokers:
        for partition, size in _sizes_on(broker, timeout_s).items():
            sizes[partition] = max(size, sizes.get(partition, 0))
    return sizes


def _sizes_on(broker: Address, timeout_s: float) -> dict[TopicPartition, int]:
    try:
        answer = _ask(broker, timeout_s)
    except (OSError, DecodeError) as error:
        raise ClusterError(
            f"{broker} does not tell the sizes of its partitions ({error})"
        ) from None
    return {
        TopicPartition(topic.name, partition.partition_index): partition.partition_size
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
    }


def _ask(broker: Address, timeout_s: float) -> DescribeLogDirsResponse:
    head = encode_request_header(RequestHeader(_API_KEY, _VERSION, 1, CLIENT_ID), flexible=False)
    request = frame([head, *encode(DescribeLogDirsRequest(topics=None), _VERSION)])
    with socket.create_connection(broker, timeout_s) as connection:
        connection.sendall(b"".join(request))
        size = frame_size(_receive(connection, SIZE_BYTES))
        answer = _receive(connection, size)
    _, position = decode_response_header(answer, flexible=False)
    return decode(DescribeLogDirsResponse, _VERSION, answer, position)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(min(size - len(received), 65536))
        if not chunk:
            raise ConnectionResetError("closed before the answer was complete")
        received += chunk
    return bytes(received)
