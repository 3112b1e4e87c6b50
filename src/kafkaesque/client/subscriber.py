"""A program's own selection of topics, through the fan-out (kafkaesque.v1).

    async with Subscriber("ws://127.0.0.1:8083/v1") as subscriber:
        await subscriber.subscribe("ticks", key="AMZN", where="value.price > 100")
        async for event in subscriber:
            print(event.key, event.value)

A connection that is lost is made again, and each subscription goes on with the offset after the
last record that came: nothing is missing and nothing comes twice, unless the server says so. What
it says of that is a Gap; `gaps` collects them, `on_gap` is called in the order of the stream, and
`deliveries()` has them among the events. Who does not take events makes the server's buffer fill,
not this program's memory: that is what policies are for.
Above: programs. Below: subscriber_link.py, v1/.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from ssl import SSLContext
from types import TracebackType
from typing import Any, TypeAlias

import orjson

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.subscriber_link import REFUSED, Link, LinkError, open_link
from kafkaesque.client.v1 import (
    Decode,
    Gap,
    Ping,
    Policy,
    Position,
    Request,
    Start,
    Subscribe,
    Unsubscribe,
    decode_event,
    gap_of,
)
from kafkaesque.event import Event

Key: TypeAlias = str | bytes

_WAITING_BYTES = 1 << 20
"""What waits here for the program; more of it waits in the socket."""
_QUIET_S = 15.0
_ASKED_AFTER = 20
_FIRST_DELAY_S = 0.2
_MAX_DELAY_S = 10.0


class Subscription:
    """One selection. `position` has the next offset of each partition, as far as it was taken."""

    def __init__(self, request: Subscribe) -> None:
        self.request = request
        self.position: dict[int, int] = {}
        self.is_caught_up = False
        self.received: dict[int, int] = {}
        """The same of what has come, taken or not: where a new connection goes on."""
        self.answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def id(self) -> int:
        return self.request.id

    @property
    def topic(self) -> str:
        return self.request.topic

    def resumed(self) -> Subscribe:
        """What to ask for on a new connection."""
        return replace(self.request, start=dict(self.received)) if self.received else self.request

    def __repr__(self) -> str:
        return f"<Subscription {self.id} of {self.topic} at {self.position}>"


Item: TypeAlias = Event | Gap | dict[int, int] | ClusterError
"""What waits for the program; a dict is a position that the server has told."""


class Subscriber:
    """Use it as a context. `tell` is told of connections that are lost and found again; `decode`
    is for subscriptions that do not say it themselves."""

    def __init__(
        self,
        uri: str = "ws://127.0.0.1:8083/v1",
        token: str | None = None,
        *,
        tls: SSLContext | None = None,
        decode: Decode | str = Decode.NONE,
        on_gap: Callable[[Gap], None] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.uri = uri
        self.subscriptions: dict[int, Subscription] = {}
        self.gaps: list[Gap] = []
        self._token = token
        self._tls = tls
        self._decode = Decode(decode)
        self._on_gap = on_gap or self.gaps.append
        self._tell = tell or (lambda _sentence: None)
        self._last_id = 0
        self._link: Link | None = None
        self._task: asyncio.Task[None] | None = None
        self._items: deque[tuple[Subscription | None, Item, int]] = deque()
        self._waiting_bytes = 0
        self._came = asyncio.Event()
        self._room = asyncio.Event()
        self._asking = 0

    async def __aenter__(self) -> "Subscriber":
        self._link = await open_link(self.uri, self._token, self._tls)
        self._task = asyncio.create_task(self._run(self._link))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError, ClusterError):
                await self._task

    async def subscribe(
        self,
        topic: str,
        *,
        key: Key | None = None,
        keys: Iterable[Key] | None = None,
        prefix: Key | None = None,
        headers: Mapping[str, Key] | None = None,
        where: str | None = None,
        start: Start = "latest",
        policy: Policy | str = Policy.DROP_OLDEST,
        buffer: int | None = None,
        decode: Decode | str | None = None,
    ) -> Subscription:
        """Raises ClusterError if it is refused. What is appended from now on will come.

        With `decode="json"` keys and values that have a schema come as JSON text.
        """
        if key is not None:
            keys = (key,) if keys is None else (key, *keys)
        request = Subscribe(
            self._new_id(),
            topic,
            None if keys is None else tuple(map(_bytes, keys)),
            None if prefix is None else _bytes(prefix),
            tuple((name, _bytes(value)) for name, value in (headers or {}).items()),
            where,
            start,
            Policy(policy),
            buffer,
            decode=self._decode if decode is None else Decode(decode),
        )
        subscription = Subscription(request)
        self.subscriptions[request.id] = subscription
        await self._send(request)
        try:
            await self._answered(subscription)
        except BaseException:
            self.subscriptions.pop(request.id, None)
            raise
        return subscription

    async def unsubscribe(self, subscription: Subscription) -> None:
        """What has come already is still delivered."""
        if self.subscriptions.pop(subscription.id, None) is not None:
            await self._send(Unsubscribe(subscription.id))

    async def deliveries(self) -> AsyncIterator[tuple[Subscription, Event | Gap]]:
        """Events and gaps in the order of the stream, with the subscription they are for."""
        while True:
            while not self._items:
                if self._is_over():
                    return
                self._came.clear()
                await self._came.wait()
            subscription, item, size = self._items.popleft()
            self._waiting_bytes -= size
            if self._waiting_bytes < _WAITING_BYTES:
                self._room.set()
            if isinstance(item, ClusterError):
                raise item
            if subscription is None:
                continue
            advance(subscription.position, item)
            if isinstance(item, Gap):
                self._on_gap(item)
            if not isinstance(item, dict):
                yield subscription, item

    def _is_over(self) -> bool:
        """Raises what it has failed with."""
        if self._task is None or not self._task.done():
            return False
        if not self._task.cancelled():
            self._task.result()
        return True

    async def __aiter__(self) -> AsyncIterator[Event]:
        async for _, item in self.deliveries():
            if isinstance(item, Event):
                yield item

    def __repr__(self) -> str:
        state = "connected" if self._link is not None else "not connected"
        return f"<Subscriber {self.uri}, {state}, {len(self.subscriptions)} subscriptions>"

    def _new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    async def _answered(self, subscription: Subscription) -> None:
        """While somebody waits for an answer, everything before it is taken in."""
        if self._task is None or self._task.done():
            raise ClusterError("this Subscriber is closed: use it within `async with`")
        self._asking += 1
        self._room.set()
        try:
            await subscription.answer
        finally:
            self._asking -= 1

    async def _send(self, request: Request) -> None:
        """Without a connection nothing is sent: a new one begins with all subscriptions."""
        if self._link is not None:
            with suppress(LinkError):  # The reading side has heard of it too.
                await self._link.send(request)

    async def _run(self, link: Link) -> None:
        """Read for ever, over as many connections as it takes."""
        try:
            while True:
                try:
                    await self._read(link)
                except LinkError as error:
                    await self._leave(link)
                    if error.is_final:
                        raise
                    self._tell(f"{error}; it is tried again until it is back")
                link = await self._connect_again()
        except ClusterError as error:
            for number in list(self.subscriptions):
                self._answer(number, error)
            raise
        finally:
            self._came.set()
            await self._leave(link)

    async def _leave(self, link: Link) -> None:
        self._link = None
        await link.close()

    async def _connect_again(self) -> Link:
        delay_s = _FIRST_DELAY_S
        while True:
            await asyncio.sleep(delay_s * random.uniform(0.5, 1))
            delay_s = min(2 * delay_s, _MAX_DELAY_S)
            try:
                link = await open_link(self.uri, self._token, self._tls)
            except LinkError as error:
                if error.is_final:
                    raise
                continue
            # From here on new subscriptions send themselves.
            self._link, known = link, list(self.subscriptions.values())
            for subscription in known:
                await self._send(subscription.resumed())
            self._tell(f"{self.uri} is back")
            return link

    async def _read(self, link: Link) -> None:
        clock = asyncio.get_running_loop().time
        ask_at, is_silent = clock() + _QUIET_S, False
        while True:
            while self._waiting_bytes >= _WAITING_BYTES and not self._asking:
                self._room.clear()
                await self._room.wait()
            try:
                async with asyncio.timeout_at(ask_at):
                    message = await link.receive()
            except TimeoutError:
                if is_silent:
                    raise LinkError(f"{self.uri} has not answered for {_QUIET_S:g} s") from None
                ask_at, is_silent = clock() + _QUIET_S, True
                await self._ask_after(link)
            else:
                is_silent = False
                self._take(message)

    async def _ask_after(self, link: Link) -> None:
        """Is the server still there, and where would a new connection go on? A few at a time."""
        await link.send(Ping())
        for number in list(self.subscriptions)[:_ASKED_AFTER]:
            subscription = self.subscriptions.pop(number)
            self.subscriptions[number] = subscription  # Behind those who were not asked after.
            await link.send(Position(number))

    def _take(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            number, event = decode_event(message)
            self._put(number, event, len(message))
            return
        fields = orjson.loads(message)
        match fields["type"]:
            case "gap":
                self._put(fields["id"], gap_of(fields), len(message))
            case "subscribed" | "position":
                self._put(fields["id"], _offsets(fields), len(message))
                self._answer(fields["id"], None)
            case "caught-up":
                if subscription := self.subscriptions.get(fields["id"]):
                    subscription.is_caught_up = True
            case "error":
                self._refuse(fields)
            case "closing":
                is_final = fields.get("code") == REFUSED
                raise LinkError(f"{self.uri} closes: {fields['reason']}", is_final=is_final)

    def _put(self, number: int, item: Event | Gap | dict[int, int], size: int) -> None:
        if subscription := self.subscriptions.get(number):
            advance(subscription.received, item)
            self._items.append((subscription, item, size))
            self._waiting_bytes += size
            self._came.set()

    def _refuse(self, fields: dict[str, Any]) -> None:
        """What names a subscription ends it: it was refused, or its topic is gone."""
        error = ClusterError(fields["message"])
        if not self._answer(fields["id"], error):
            self.subscriptions.pop(fields["id"], None)
            self._items.append((None, error, 0))
            self._came.set()

    def _answer(self, number: int | None, error: ClusterError | None) -> bool:
        """Whether anybody waited for it."""
        subscription = self.subscriptions.get(number) if number is not None else None
        if subscription is None or subscription.answer.done():
            return False
        if error is None:
            subscription.answer.set_result(None)
        else:
            subscription.answer.set_exception(error)
        return True


def advance(position: dict[int, int], item: Event | Gap | dict[int, int]) -> None:
    """A position moves forward only: what the server tells may be older than what came."""
    if isinstance(item, Event):
        nexts: Iterable[tuple[int, int]] = ((item.partition, item.offset + 1),)
    elif isinstance(item, Gap):
        # Between two ranges of a partition lie records that come after this message.
        nexts = {part: last + 1 for part, _, last in reversed(item.ranges)}.items()
    else:
        nexts = item.items()
    for partition, offset in nexts:
        if position.get(partition, -1) < offset:
            position[partition] = offset


def _offsets(fields: dict[str, Any]) -> dict[int, int]:
    return {int(partition): offset for partition, offset in fields["position"].items()}


def _bytes(key: Key) -> bytes:
    return key.encode() if isinstance(key, str) else key
