"""Questions to one broker in our own codec on a blocking socket: what confluent-kafka cannot ask.

    with Wire(broker, connection) as wire:
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse, version=0)

TLS and SASL are the connection's. A broker hangs up on an API that it does not know, so it is first
asked what it knows (greeting.py), and an API that is missing is said to be. Time is counted for a
whole `ask`, not for each read: a broker that sends a byte a second is late, too.
Above: coordinators.py, log_dirs.py, transactions.py, producers.py.
Below: greeting.py, connection.py, protocol/.
"""

import secrets
import socket
import struct
import time
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice
from types import TracebackType
from typing import Any, TypeVar

from kafkaesque.client.connection import (
    CLIENT_ID,
    Address,
    Connection,
    RefusedError,
    UnansweredError,
    connect,
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
# A broker that waits for somebody to take its answers reads no more questions: what is sent before
# that has to fit into the buffers between.
_AT_ONCE = 100
_AT_ONCE_BYTES = 65536


class Wire:
    """A connection to one broker. What goes wrong with it is a ClusterError.

    With `deadline_s`, of the monotonic clock, all must be done by then. Without, each `ask` has the
    connection's `timeout_s`, of which the first has what connecting leaves.
    """

    def __init__(
        self, broker: Address, connection: Connection, deadline_s: float | None = None
    ) -> None:
        self._broker = broker
        self._connection = connection
        self._is_ask_timed = deadline_s is None
        self._deadline_s = self._next_deadline_s() if deadline_s is None else deadline_s
        # To be told: of the whole timeout it may be a share.
        self._patience_s = max(round(self._deadline_s - time.monotonic(), 1), 0.1)
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
        requests: Iterable[object],
        response: type[R],
        version: int,
        *,
        min_version: int | None = None,
    ) -> Iterator[R]:
        """The answers to requests of one kind, as they come: what has come before it goes wrong is
        not lost. Many requests are sent before the first answer is waited for; each is taken from
        `requests` when it is.
        """
        if self._is_ask_timed and self._versions is not None:
            self._deadline_s = self._next_deadline_s()
        versions = self._greeted()
        oldest = version if min_version is None else min_version
        questions = (
            Question(each, response, versions.best(each, version, oldest)) for each in requests
        )
        for question in questions:
            yield from self._exchange(chain([question], islice(questions, _AT_ONCE - 1)))

    def _next_deadline_s(self) -> float:
        return time.monotonic() + self._connection.timeout_s

    def _left_s(self) -> float:
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return left_s

    def _greeted(self) -> Versions:
        if self._versions is None:
            nonce = secrets.token_urlsafe(24)
            self._versions = self._converse(greet(self._broker, self._connection, nonce))
        return self._versions

    def _connect(self) -> socket.socket:
        context = self._connection.ssl_context()
        try:
            plain = connect(self._broker, self._left_s())
        except OSError as error:
            raise UnansweredError(
                f"nothing answers at {self._broker} ({error.strerror or error}): see that a broker "
                "listens there, and that the address it advertises can be reached from here"
            ) from None
        if context is None:
            return plain
        try:
            plain.settimeout(self._left_s())
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
                (answer,) = self._exchange(iter([question]))
                question = steps.send(answer)
        except StopIteration as end:
            versions: Versions = end.value
            return versions

    def _exchange(self, questions: Iterator[Question]) -> Iterator[Any]:
        """The answers to as many of the first as go at once: one connection's come in order."""
        sent: list[Question] = []
        sent_bytes = 0
        try:
            while sent_bytes < _AT_ONCE_BYTES and (question := next(questions, None)):
                sent.append(question)
                sent_bytes += self._send(question)
            for question in sent:
                yield self._answer(question)
        except TimeoutError:
            raise UnansweredError(
                f"{self._broker} does not answer {sent[0].api} within {self._patience_s:g} s: "
                "try again, or give it more time with --timeout"
            ) from None
        except (OSError, DecodeError) as error:
            raise UnansweredError(
                f"{self._broker} does not answer {sent[0].api} ({error}): "
                "try again, or give it more time with --timeout"
            ) from None

    def _send(self, question: Question) -> int:
        """How many bytes that took."""
        self._asked += 1
        header = RequestHeader(question.api_key, question.version, self._asked, CLIENT_ID)
        try:
            message = encode(question.request, question.version)
        except (UnicodeEncodeError, struct.error) as error:
            raise RefusedError(
                f"{question.api} cannot be asked with such a name ({error}): "
                "give one of UTF-8, and of less than 32,768 bytes"
            ) from None
        data = b"".join(frame([encode_request_header(header, question.is_flexible), *message]))
        sent = 0
        while sent < len(data):
            self._socket.settimeout(self._left_s())
            sent += self._socket.send(memoryview(data)[sent:])
        return sent

    def _answer(self, question: Question) -> Any:
        answer = self._receive(frame_size(self._receive(SIZE_BYTES)))
        _, position = decode_response_header(answer, question.is_flexible)
        return decode(question.response, question.version, answer, position)

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            self._socket.settimeout(self._left_s())
            chunk = self._socket.recv(min(size - len(received), _CHUNK))
            if not chunk:
                raise ConnectionResetError("closed before the answer was complete")
            received += chunk
        return bytes(received)
