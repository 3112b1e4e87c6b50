"""Questions to one broker in our own codec on a plain socket: what confluent-kafka cannot ask.

    with Wire(broker, timeout_s) as wire:
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse, version=0)

A broker hangs up on an API that it does not know. So it is first asked what it knows, in a version
of ApiVersions that every broker has, and an API that is missing is said to be. It knows neither TLS
nor SASL. Above: log_dirs.py, transactions.py, producers.py. Below: protocol/, connection.py.
"""

import socket
from types import TracebackType
from typing import TypeVar

from kafkaesque.client.connection import CLIENT_ID, Address, ClusterError
from kafkaesque.errors import DecodeError
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import SIZE_BYTES, frame, frame_size
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkaesque.protocol.schema import schema_of

R = TypeVar("R")

_CHUNK = 65536


class Wire:
    """A connection to one broker. What goes wrong with it is a ClusterError."""

    def __init__(self, broker: Address, timeout_s: float) -> None:
        self._broker = broker
        self._asked = 0
        self._versions: dict[int, range] = {}
        try:
            self._socket = socket.create_connection(broker, timeout_s)
        except OSError as error:
            raise ClusterError(
                f"{broker}, which the cluster names as a broker, cannot be reached ({error}): "
                "see that the address it advertises is one that can be reached from here"
            ) from None

    def __enter__(self) -> "Wire":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, request: object, response: type[R], version: int) -> R:
        """The answer. Raises ClusterError if none comes, or if the broker has no such API."""
        if not self._versions:
            self._versions = self._known()
        if version not in self._versions.get(_api_key(request), range(0)):
            raise ClusterError(
                f"{self._broker} knows no {_api(request)} of version {version}: "
                "it needs a newer Kafka, or another --brokers"
            )
        return self._exchange(request, response, version)

    def _known(self) -> dict[int, range]:
        answer = self._exchange(ApiVersionsRequest(), ApiVersionsResponse, version=0)
        return {
            each.api_key: range(each.min_version, each.max_version + 1) for each in answer.api_keys
        }

    def _exchange(self, request: object, response: type[R], version: int) -> R:
        try:
            return self._talk(request, response, version)
        except (OSError, DecodeError) as error:
            raise ClusterError(
                f"{self._broker} does not answer {_api(request)} ({error}): "
                "try again, or give it more time with --timeout"
            ) from None

    def _talk(self, request: object, response: type[R], version: int) -> R:
        flexible = schema_of(type(request)).is_flexible(version)
        self._asked += 1
        header = RequestHeader(_api_key(request), version, self._asked, CLIENT_ID)
        chunks = [encode_request_header(header, flexible), *encode(request, version)]
        self._socket.sendall(b"".join(frame(chunks)))
        answer = self._receive(frame_size(self._receive(SIZE_BYTES)))
        _, position = decode_response_header(answer, flexible)
        return decode(response, version, answer, position)

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(min(size - len(received), _CHUNK))
            if not chunk:
                raise ConnectionResetError("closed before the answer was complete")
            received += chunk
        return bytes(received)


def _api_key(request: object) -> int:
    api_key = schema_of(type(request)).api_key
    if api_key is None:
        raise TypeError(f"{type(request).__name__} is no request")
    return api_key


def _api(request: object) -> str:
    return type(request).__name__.removesuffix("Request")
