"""`/v1` and the TCP port: kafkaesque.v1, many subscriptions over one connection.

Requests are answered in the order in which they come: while a subscription is being made, which
may take a question to the cluster, later ones wait. `V1Requests` is what both transports share.
Above: http_client.py, server.py. Below: websocket_client.py, client.py, client/v1/.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from kafkaesque.client import v1
from kafkaesque.client.filters import FilterError, parse
from kafkaesque.client.v1 import Decode, Encoding, GapReason, V1Error
from kafkaesque.gateway.fanout import encodings, tcp, websocket
from kafkaesque.gateway.fanout.client import Client, Range, peer_of
from kafkaesque.gateway.fanout.delivery import Encoder
from kafkaesque.gateway.fanout.joining import AwayError, SubscribeError
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.tcp import TcpError, TcpReader
from kafkaesque.gateway.fanout.wants import Wants
from kafkaesque.gateway.fanout.websocket import Frame
from kafkaesque.gateway.fanout.websocket_client import MAX_MESSAGE_BYTES, WebSocketClient

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.door import Door

_MOST_WAITING = 2000


class V1Requests(Client):
    """`encoders` has one for each encoding; `framed` makes a message of the transport.

    `waiting` are requests that have come while one is under way; None: none is.
    """

    __slots__ = ()

    encoders: ClassVar[Mapping[Encoding, Encoder]]

    def framed(self, message: str) -> bytes:
        raise NotImplementedError

    def tell(self, message: str) -> None:
        self.write_now(self.framed(message))

    def request(self, data: bytes) -> None:
        if self.limit is not None and not self.limit.allows(time.monotonic()):
            self.end(1008, "too many requests: send fewer a second")
        elif self.waiting is None:
            self._answer(data)
        elif len(self.waiting) < _MOST_WAITING:
            self.waiting.append(data)
        else:
            self.end(1008, "too many requests are waiting: wait for their answers")

    def caught_up(self, subscription: Subscription) -> None:
        self.write(self.framed(v1.caught_up(subscription.id)))

    def tell_gap(
        self,
        subscription: Subscription,
        reason: GapReason,
        missed: int | None,
        ranges: Sequence[Range],
    ) -> None:
        self.write(self.framed(v1.gap(subscription.id, reason, missed, ranges)))

    def topic_gone(self, subscription: Subscription) -> None:
        self.drop_subscription(subscription)
        topic = subscription.stream.topic
        self.tell(v1.error(subscription.id, f"topic {topic!r} was deleted"))

    def _answer(self, data: bytes) -> None:
        try:
            request = v1.parse_request(data)
        except V1Error as error:
            self.tell(v1.error(error.id, str(error)))
            return
        match request:
            case v1.Subscribe():
                self._begin(request)
            case v1.Unsubscribe(id=number):
                self._about(number, self._unsubscribe)
            case v1.Position(id=number):
                self._about(number, self._tell_position)
            case v1.Token(token=token):
                self._show_token(token)
            case v1.Ping():
                self.tell(v1.pong())

    def _about(self, number: int, act: Callable[[Subscription], None]) -> None:
        subscription = self.subscriptions.get(number)
        if subscription is None:
            self.tell(v1.error(number, f"there is no subscription {number}"))
        else:
            act(subscription)

    def _unsubscribe(self, subscription: Subscription) -> None:
        position = self._position(subscription)
        self.drop_subscription(subscription)
        self.tell(v1.unsubscribed(subscription.id, position))

    def _tell_position(self, subscription: Subscription) -> None:
        self.tell(v1.position(subscription.id, self._position(subscription)))

    def _position(self, subscription: Subscription) -> dict[int, int]:
        return subscription.stream.position(subscription)

    def _show_token(self, token: str) -> None:
        if self.grant is not None:
            self.tell(v1.error(None, "a token was shown already, or none is needed"))
        elif reason := self.door.refusal(self, token):
            self.end(1008, reason)

    def _begin(self, request: v1.Subscribe) -> None:
        try:
            wants = self._wants(request)
        except FilterError as error:
            self.tell(v1.error(request.id, str(error), error.position))
        except SubscribeError as error:
            self.tell(v1.error(request.id, str(error)))
        else:
            self.waiting = deque()
            self.door.spawn(self._subscribe(request, wants))

    def _wants(self, request: v1.Subscribe) -> Wants:
        if request.id in self.subscriptions:
            raise SubscribeError(
                f"subscription {request.id} is there already: unsubscribe it first"
            )
        if len(self.subscriptions) >= self.door.config.max_subscriptions:
            most = self.door.config.max_subscriptions
            raise SubscribeError(f"a connection may have {most} subscriptions: open another one")
        predicate = None if request.where is None else parse(request.where)
        wants = Wants(request.keys, request.prefix, request.headers, predicate)
        if reason := self.refusal(request.topic, wants):
            raise SubscribeError(reason)
        self._encoder(request)
        return wants

    def _encoder(self, request: v1.Subscribe) -> Encoder:
        plain = self.encoders[request.encoding]
        return plain if request.decode is Decode.NONE else self.door.decoding.like(plain)

    async def _subscribe(self, request: v1.Subscribe, wants: Wants) -> None:
        try:
            prepared = await self.door.joining.prepare(request.topic, wants, request.start)
        except AwayError as error:
            self.end(1013, str(error))
        except SubscribeError as error:
            self.tell(v1.error(request.id, str(error)))
        else:
            subscription = self.door.joining.join(
                prepared,
                request.id,
                self,
                self._encoder(request),
                request.policy,
                request.buffer,
                request.decode is Decode.JSON,
            )
            if self.welcome(subscription):
                self.tell(v1.subscribed(request.id, request.topic, self._position(subscription)))
        finally:
            self._go_on()

    def _go_on(self) -> None:
        waiting, self.waiting = self.waiting, None
        while waiting and self.waiting is None and not self.is_closing:
            self._answer(waiting.popleft())
        if waiting and self.waiting is not None:
            self.waiting.extendleft(reversed(waiting))


class V1WebSocket(V1Requests, WebSocketClient):
    __slots__ = ()

    encoders: ClassVar = {Encoding.BINARY: encodings.v1_websocket, Encoding.JSON: encodings.v1_json}

    def __init__(self, door: "Door", address: str) -> None:
        super().__init__(door, address)
        self.limit = door.limits.requests()

    def message(self, frame: Frame) -> None:
        self.request(frame.payload)

    def framed(self, message: str) -> bytes:
        return websocket.text(message.encode())

    def farewell(self, code: int, reason: str) -> bytes:
        return self.framed(v1.closing(reason, code)) + websocket.close(code, reason)


class V1Tcp(V1Requests):
    """Without a handshake: the connection is the client."""

    __slots__ = ("_reader",)

    encoders: ClassVar = {Encoding.BINARY: encodings.v1_tcp, Encoding.JSON: encodings.v1_tcp_json}
    must_answer = False

    def __init__(self, door: "Door") -> None:
        super().__init__(door, "")
        self.limit = door.limits.requests()
        self._reader = TcpReader(MAX_MESSAGE_BYTES)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.address = peer_of(transport)
        if reason := self.door.limits.admit(self.address):
            self.door.stats.refused += 1
            self.end(1013, reason)
        else:
            self.door.came(self)

    def data_received(self, data: bytes) -> None:
        self.heard_at = time.monotonic()
        try:
            for payload in self._reader.feed(data):
                if self.is_closing:
                    return
                self.request(payload)
        except TcpError as error:
            self.end(1009, str(error))

    def framed(self, message: str) -> bytes:
        return tcp.frame(message.encode())

    def farewell(self, code: int, reason: str) -> bytes:
        return self.framed(v1.closing(reason, code))
