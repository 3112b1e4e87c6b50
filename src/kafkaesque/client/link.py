"""A connection to one broker, on an event loop: requests in our own codec, answers as they come.

    link = await Link.open(broker, connection)
    response = await link.ask(FetchRequest(...), FetchResponse, max_version=12)

Opening is TCP, TLS if wanted, and the greeting (greeting.py). Requests may be sent before earlier
ones are answered; correlation ids tell the answers apart. What fails for now is a ClusterError, and
closes the link; what would fail again tomorrow (a wrong password, a certificate that is not
trusted, an API that is missing) is a RefusedError.
Above: links.py, fetch.py. Below: greeting.py, frames.py, connection.py, protocol/.
"""

import asyncio
import secrets
import ssl
from collections.abc import Generator
from typing import Any, Final, TypeVar

from kafkaesque.client.connection import (
    CLIENT_ID,
    IMPOSSIBLE_HOST,
    Address,
    ClusterError,
    Connection,
    RefusedError,
)
from kafkaesque.client.frames import Frames
from kafkaesque.client.greeting import Question, Versions, greet
from kafkaesque.errors import DecodeError, KafkaError
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import frame
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)
from kafkaesque.types import Buffer

R = TypeVar("R")

_MAX_CORRELATION_ID: Final = 2**31 - 1


class Link:
    """One connection. Made by `open`."""

    def __init__(self, broker: Address, connection: Connection) -> None:
        self.broker = broker
        self._timeout_s = connection.timeout_s
        self._frames = Frames(self._answered, self._lost)
        self._waiting: dict[int, tuple[Question, asyncio.Future[Any]]] = {}
        self._asked = 0
        self._versions: Versions
        self._reason: ClusterError | None = None

    @classmethod
    async def open(cls, broker: Address, connection: Connection) -> "Link":
        link = cls(broker, connection)
        try:
            async with asyncio.timeout(connection.timeout_s):
                await link._connect(connection)
                link._versions = await link._converse(
                    greet(broker, connection, secrets.token_urlsafe(24))
                )
        except TimeoutError:
            link.abort()
            raise ClusterError(
                f"{broker} does not answer within {connection.timeout_s:g} s: "
                "see that it is a broker, and whether it wants TLS"
            ) from None
        except BaseException:
            link.abort()
            raise
        return link

    @property
    def is_closed(self) -> bool:
        return self._reason is not None

    async def ask(
        self,
        request: object,
        response: type[R],
        max_version: int,
        *,
        min_version: int = 0,
        patience_s: float = 0.0,
    ) -> R:
        """The answer. `patience_s` is how long the broker itself may wait before it gives one."""
        version = self._versions.best(request, max_version, min_version)
        question = Question(request, response, version)
        try:
            async with asyncio.timeout(self._timeout_s + patience_s):
                answer: R = await self._exchange(question)
        except TimeoutError:
            self._end(
                ClusterError(
                    f"{self.broker} does not answer {question.api} in time: "
                    "try again, or give it more time with --timeout"
                )
            )
            raise self._failure() from None
        return answer

    def say(self, request: object, response: type[object], max_version: int) -> None:
        """Send what needs no answer."""
        version = self._versions.best(request, max_version)
        if not self.is_closed:
            self._send(Question(request, response, version)).cancel()

    async def close(self) -> None:
        """Hang up, after all that was said has been sent."""
        await self._frames.close()
        self.abort()

    def abort(self) -> None:
        self._end(ClusterError(f"the connection to {self.broker} was closed"))

    async def _connect(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        context = connection.ssl_context()
        try:
            await loop.create_connection(
                lambda: self._frames,
                *self.broker,
                ssl=context,
                server_hostname=self.broker.host if context else None,
            )
        except ssl.SSLCertVerificationError as error:
            raise RefusedError(
                f"the certificate of {self.broker} is not trusted ({error.verify_message}): "
                "name its authority with --tls-ca, or see that --brokers names the right host"
            ) from None
        except (ssl.SSLEOFError, ConnectionResetError, ConnectionAbortedError):
            raise ClusterError(
                f"{self.broker} hangs up at once: see its log, and whether it listens with TLS"
            ) from None
        except ssl.SSLError as error:
            raise RefusedError(
                f"there is no TLS with {self.broker} ({error.reason or error}): "
                "see that it listens with TLS"
            ) from None
        except (OSError, UnicodeError) as error:
            reason = (error.strerror or error) if isinstance(error, OSError) else IMPOSSIBLE_HOST
            raise ClusterError(
                f"nothing answers at {self.broker} ({reason}): see that a broker "
                "listens there, and that the address it advertises can be reached from here"
            ) from None

    async def _converse(self, steps: Generator[Question, Any, Versions]) -> Versions:
        question = next(steps)
        try:
            while True:
                question = steps.send(await self._exchange(question))
        except StopIteration as end:
            versions: Versions = end.value
            return versions

    async def _exchange(self, question: Question) -> Any:
        if self.is_closed:
            raise self._failure()
        return await self._send(question)

    def _send(self, question: Question) -> "asyncio.Future[Any]":
        self._asked = 1 if self._asked == _MAX_CORRELATION_ID else self._asked + 1
        header = RequestHeader(question.api_key, question.version, self._asked, CLIENT_ID)
        chunks = [
            encode_request_header(header, question.is_flexible),
            *encode(question.request, question.version),
        ]
        answer = asyncio.get_running_loop().create_future()
        self._waiting[self._asked] = question, answer
        self._frames.send(frame(chunks))
        return answer

    def _answered(self, data: Buffer) -> None:
        correlation_id, _ = decode_response_header(data, flexible=False)
        if correlation_id not in self._waiting:
            raise DecodeError(f"an answer to question {correlation_id}, which was not asked")
        question, answer = self._waiting[correlation_id]
        if not answer.done():  # Else nobody waits for it any more.
            _, position = decode_response_header(data, question.is_flexible)
            answer.set_result(decode(question.response, question.version, data, position))
        del self._waiting[correlation_id]

    def _lost(self, reason: Exception | None) -> None:
        if isinstance(reason, KafkaError):
            words = f"{self.broker} does not answer as a broker does ({reason}): see what it is"
        else:
            words = f"{self.broker} has closed the connection ({reason or 'without a word'}): "
            words += "see its log, and whether it wants TLS or a login"
        self._end(ClusterError(words))

    def _end(self, reason: ClusterError) -> None:
        if self._reason is None:
            self._reason = reason
        self._frames.abort()
        waiting, self._waiting = self._waiting, {}
        for _, answer in waiting.values():
            if not answer.done():
                answer.set_exception(self._failure())

    def _failure(self) -> ClusterError:
        return ClusterError(str(self._reason))
