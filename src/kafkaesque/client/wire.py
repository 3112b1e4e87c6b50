"""Questions to one broker in our own codec on a blocking socket: what confluent-kafka cannot ask.

    with Wire(broker, connection) as wire:
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse, version=0)

TLS and SASL are the connection's. A broker hangs up on an API that it does not know, so it is first
asked what it knows (greeting.py), and an API that is missing is said to be.
Above: coordinators.py, log_dirs.py, transactions.py, producers.py.
Below: greeting.py, connection.py, protocol/.
"""

import secrets
import socket
from collections.abc import Generator, Sequence
from types import TracebackType
from typing import Any, TypeVar

from kafkaesque.client.connection import (
    CLIENT_ID,
    Address,
    Connection,
    UnansweredError,
)
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
# A broker that waits for somebody to take its answers reads no more questions.
_AT_ONCE = 100


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

    def ask(
        self, request: object, response: type[R], version: int, *, min_version: int | None = None
    ) -> R:
        """The answer. Raises ClusterError if none comes, or if the broker has no such API.

        Without `min_version` it must know this version, else it may know an older one.
        """
        (answer,) = self.ask_each([request], response, version, min_version=min_version)
        return answer

    def ask_each(
        self,
        requests: Sequence[object],
        response: type[R],
        version: int,
        *,
        min_version: int | None = None,
    ) -> list[R]:
        """The answers to requests of one kind, which are sent before the first is waited for."""
        versions = self._greeted()
        oldest = version if min_version is None else min_version
        questions = [
            Question(each, response, versions.best(each, version, oldest)) for each in requests
        ]
        answers: list[R] = []
        for start in range(0, len(questions), _AT_ONCE):
            answers += self._exchange(questions[start : start + _AT_ONCE])
        return answers

    def _greeted(self) -> Versions:
        if self._versions is None:
            nonce = secrets.token_urlsafe(24)
            self._versions = self._converse(greet(self._broker, self._connection, nonce))
        return self._versions

    def _connect(self) -> socket.socket:
        context = self._connection.ssl_context()
        try:
            plain = socket.create_connection(self._broker, self._connection.timeout_s)
        except OSError as error:
            raise UnansweredError(
                f"nothing answers at {self._broker} ({error.strerror or error}): see that a broker "
                "listens there, and that the address it advertises can be reached from here"
            ) from None
        if context is None:
            return plain
        try:
            return context.wrap_socket(plain, server_hostname=self._broker.host)
        except OSError as error:
            plain.close()
            raise UnansweredError(
                f"there is no TLS with {self._broker} ({error}): see that it listens with TLS, "
                "and name the authority of its certificate with --tls-ca"
            ) from None

    def _converse(self, steps: Generator[Question, Any, Versions]) -> Versions:
        question = next(steps)
        try:
            while True:
                (answer,) = self._exchange([question])
                question = steps.send(answer)
        except StopIteration as end:
            versions: Versions = end.value
            return versions

    def _exchange(self, questions: Sequence[Question]) -> list[Any]:
        """A broker answers one connection's questions in their order."""
        try:
            for question in questions:
                self._send(question)
            return [self._answer(question) for question in questions]
        except TimeoutError:
            raise UnansweredError(
                f"{self._broker} does not answer {questions[0].api} within "
                f"{self._connection.timeout_s:g} s: try again, or give it more time with --timeout"
            ) from None
        except (OSError, DecodeError) as error:
            raise UnansweredError(
                f"{self._broker} does not answer {questions[0].api} ({error}): "
                "try again, or give it more time with --timeout"
            ) from None

    def _send(self, question: Question) -> None:
        self._asked += 1
        header = RequestHeader(question.api_key, question.version, self._asked, CLIENT_ID)
        chunks = [
            encode_request_header(header, question.is_flexible),
            *encode(question.request, question.version),
        ]
        self._socket.sendall(b"".join(frame(chunks)))

    def _answer(self, question: Question) -> Any:
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
