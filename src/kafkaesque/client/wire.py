"""Questions to one broker in our own codec on a blocking socket: what confluent-kafka cannot ask.

    with Wire(broker, connection) as wire:
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse, version=0)

TLS and SASL are the connection's. A broker hangs up on an API that it does not know, so it is first
asked what it knows (greeting.py), and an API that is missing is said to be.
Above: log_dirs.py, transactions.py, producers.py. Below: greeting.py, connection.py, protocol/.
"""

import secrets
import socket
from collections.abc import Generator
from types import TracebackType
from typing import Any, TypeVar

from kafkaesque.client.connection import CLIENT_ID, Address, ClusterError, Connection
from kafkaesque.client.greeting import Question, Versions, greet
from kafkaesque.errors import DecodeError
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import SIZE_BYTES, frame, frame_size
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)

R = TypeVar("R")

_CHUNK = 65536


class Wire:
    """A connection to one broker. What goes wrong with it is a ClusterError."""

    def __init__(self, broker: Address, connection: Connection) -> None:
        self._broker = broker
        self._connection = connection
        self._asked = 0
        self._versions: Versions | None = None
        self._socket = self._connect()

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
        if self._versions is None:
            nonce = secrets.token_urlsafe(24)
            self._versions = self._converse(greet(self._broker, self._connection, nonce))
        version = self._versions.best(request, version, min_version=version)
        answer: R = self._exchange(Question(request, response, version))
        return answer

    def _connect(self) -> socket.socket:
        context = self._connection.ssl_context()
        try:
            plain = socket.create_connection(self._broker, self._connection.timeout_s)
        except OSError as error:
            raise ClusterError(
                f"{self._broker}, which the cluster names as a broker, cannot be reached "
                f"({error}): see that the address it advertises is one that can be reached from "
                "here"
            ) from None
        if context is None:
            return plain
        try:
            return context.wrap_socket(plain, server_hostname=self._broker.host)
        except OSError as error:
            plain.close()
            raise ClusterError(
                f"there is no TLS with {self._broker} ({error}): see that it listens with TLS, "
                "and name the authority of its certificate with --tls-ca"
            ) from None

    def _converse(self, steps: Generator[Question, Any, Versions]) -> Versions:
        question = next(steps)
        try:
            while True:
                question = steps.send(self._exchange(question))
        except StopIteration as end:
            versions: Versions = end.value
            return versions

    def _exchange(self, question: Question) -> Any:
        try:
            return self._talk(question)
        except (OSError, DecodeError) as error:
            raise ClusterError(
                f"{self._broker} does not answer {question.api} ({error}): "
                "try again, or give it more time with --timeout"
            ) from None

    def _talk(self, question: Question) -> Any:
        self._asked += 1
        header = RequestHeader(question.api_key, question.version, self._asked, CLIENT_ID)
        chunks = [
            encode_request_header(header, question.is_flexible),
            *encode(question.request, question.version),
        ]
        self._socket.sendall(b"".join(frame(chunks)))
        answer = self._receive(frame_size(self._receive(SIZE_BYTES)))
        _, position = decode_response_header(answer, question.is_flexible)
        return decode(question.response, question.version, answer, position)

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(min(size - len(received), _CHUNK))
            if not chunk:
                raise ConnectionResetError("closed before the answer was complete")
            received += chunk
        return bytes(received)
