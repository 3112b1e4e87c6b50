"""One connection that speaks the protocol by our own codec: for what no foreign client would send.

Synchronous: `ask` sends a request and reads its response; `send` and `receive` apart from each
other pipeline. The functions below build the requests that most tests need.
"""

import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import frame
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)
from kafkaesque.protocol.messages import MESSAGES, Api
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkaesque.protocol.schema import schema_of
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.types import Buffer


class RawClient:
    """A connection; close it, or use it in a `with`."""

    def __init__(self, bootstrap: str, timeout_s: float = 20.0) -> None:
        host, port = bootstrap.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout_s)
        self._sent = 0

    def send(self, request: Any, version: int) -> int:
        """Send, do not wait: the correlation id."""
        api = _api_of(request)
        self._sent += 1
        header = RequestHeader(api.key, version, self._sent, "raw")
        head = encode_request_header(header, api.is_flexible(version))
        self.socket.sendall(b"".join(frame([head, *encode(request, version)])))
        return self._sent

    def receive(self, request: Any, version: int) -> tuple[int, Any]:
        """Correlation id and content of the next response, which must be to such a request."""
        api = _api_of(request)
        data = self._exactly(int.from_bytes(self._exactly(4)))
        correlation_id, position = decode_response_header(
            data, api.has_flexible_response_header(version)
        )
        return correlation_id, decode(api.response, version, data, position)

    def ask(self, request: Any, version: int) -> Any:
        sent = self.send(request, version)
        correlation_id, response = self.receive(request, version)
        assert correlation_id == sent
        return response

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the broker closed the connection")
            data += more
        return bytes(data)

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _api_of(request: Any) -> Api:
    key = schema_of(type(request)).api_key
    assert key is not None
    return MESSAGES[key]


def batch_of(values: Sequence[bytes], **header: Any) -> bytearray:
    """A batch of records without keys, stamped now."""
    now_ms = time.time_ns() // 1_000_000
    return new_batch([Record(i, now_ms, None, v, ()) for i, v in enumerate(values)], **header)


def produce_request(
    topic: str, batch: Buffer, *, partition: int = 0, acks: int = -1
) -> ProduceRequest:
    data = TopicProduceData(
        name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)]
    )
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[data])


def produce_answer(response: ProduceResponse) -> PartitionProduceResponse:
    """What a request of `produce_request` was answered."""
    return response.responses[0].partition_responses[0]


def fetch_request(
    topic: str,
    offset: int,
    *,
    partitions: Sequence[int] = (0,),
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
) -> FetchRequest:
    wanted = [
        FetchPartition(
            partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes
        )
        for index in partitions
    ]
    return FetchRequest(max_bytes=max_bytes, topics=[FetchTopic(topic=topic, partitions=wanted)])
