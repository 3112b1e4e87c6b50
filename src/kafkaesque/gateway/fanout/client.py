"""A client of the fan-out, whatever it speaks: what it is given, and what if it is slow.

It is an asyncio.Protocol: no task, queue or library object per connection. What it is given in one
turn of the loop is written in one piece. When the kernel's buffer and the transport's are full,
the client is *slow* until they have drained, and each of its subscriptions does what its policy
says: keep the newest (backlog.py), go on later by offset (it lags, catch_up.py), or give up.

Subclasses say how a record is encoded and how messages of the protocol look.
Above: sample_client.py, v1_client.py, sse_client.py. Below: hub.py, subscription.py.
"""

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from kafkaesque.client.connection import Address
from kafkaesque.client.v1 import GapReason, Policy
from kafkaesque.gateway.fanout.backlog import Backlog, Missed
from kafkaesque.gateway.fanout.delivery import Delivery
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import Wants

if TYPE_CHECKING:
    from kafkaesque.gateway.access import Grant
    from kafkaesque.gateway.fanout.door import Door
    from kafkaesque.gateway.fanout.limits import RateLimit

Range = tuple[int, int, int]

_DRAIN_BYTES = 64 << 10
_CLOSE_SECONDS = 5.0
_MOST_OUT_BYTES = 128 << 10
_MOST_UNREAD_BYTES = 1 << 20


class Client(asyncio.Protocol):
    """`door` is what all clients share: the hub, limits and figures."""

    __slots__ = (
        "address",
        "door",
        "grant",
        "heard_at",
        "is_closing",
        "is_slow",
        "limit",
        "out",
        "out_bytes",
        "pinged_at",
        "slow_since",
        "subscriptions",
        "transport",
        "waiting",
    )

    must_answer: ClassVar[bool] = True
    """Whether a client that is silent in spite of a ping is gone."""

    def __init__(self, door: "Door", address: str) -> None:
        self.door = door
        self.address = address
        self.grant: Grant | None = None
        self.transport: asyncio.Transport = cast(asyncio.Transport, None)
        self.subscriptions: dict[int, Subscription] = {}
        self.out: list[bytes] = []
        self.out_bytes = 0
        self.is_slow = False
        self.is_closing = False
        # Of v1_client.py, which two kinds of client inherit from: so they have to be here.
        self.limit: RateLimit | None = None
        self.waiting: deque[bytes] | None = None
        self.slow_since = 0.0
        self.heard_at = self.pinged_at = time.monotonic()

    # What a kind of client adds.

    def tell_gap(
        self,
        subscription: Subscription,
        reason: GapReason,
        missed: int | None,
        ranges: Sequence[Range],
    ) -> None:
        """Some matches were not, and will not be, delivered."""

    def caught_up(self, subscription: Subscription) -> None:
        """It has read all that was before, and gets what comes."""

    def topic_gone(self, subscription: Subscription) -> None:
        self.end(1008, f"topic {subscription.stream.topic!r} was deleted")

    def ping(self) -> None:
        """Ask an idle client whether it is still there."""

    def farewell(self, code: int, reason: str) -> bytes:
        """What the protocol says at the end."""
        return b""

    # What all have in common.

    @property
    def peer(self) -> str:
        """HOST:PORT."""
        place = self.transport.get_extra_info("peername")
        return str(Address(*place[:2])) if place else self.address

    def offer(self, subscription: Subscription, delivery: Delivery) -> None:
        """A match, as it comes."""
        if self.is_slow or subscription.backlog is not None:
            self._hold(subscription, delivery)
        else:
            self.deliver(subscription, delivery)

    def deliver(self, subscription: Subscription, delivery: Delivery) -> None:
        """A match that the client has room for."""
        data = delivery.encoded(subscription.encoder, subscription.id)
        self.send(subscription, data, delivery.partition, delivery.offset)

    def send(self, subscription: Subscription, data: bytes, partition: int, offset: int) -> None:
        """What it looks like, encoded; and where it lies."""
        self.door.stats.delivered += 1
        self.write(data)

    def write(self, data: bytes) -> None:
        """With the next flush; at once, if that is much: then it shows who is slow."""
        if not self.out:
            self.door.hub.dirty.append(self)
        self.out.append(data)
        self.out_bytes += len(data)
        if self.out_bytes > _MOST_OUT_BYTES:
            self.flush()

    def write_now(self, data: bytes) -> None:
        """With all that was written before it, at once: an answer to the client."""
        self.out.append(data)
        self.flush()
        unread = self.transport.get_write_buffer_size() if self.is_slow else 0
        if unread > _MOST_UNREAD_BYTES and not self.is_closing:
            self.end(1008, "answers are not read")

    def flush(self) -> None:
        out = self.out
        if out and not self.transport.is_closing():
            self.transport.write(out[0] if len(out) == 1 else b"".join(out))
            self.door.stats.delivered_bytes += self.out_bytes
        out.clear()
        self.out_bytes = 0

    def tell_expired(
        self, subscription: Subscription, partition: int, first: int, last: int
    ) -> None:
        """Retention has removed what was to come."""
        ranges = [(partition, first, last)] if first <= last else []
        self.tell_gap(subscription, GapReason.EXPIRED, None, ranges)

    def refusal(self, topic: str, wants: Wants) -> str | None:
        """Why this may not be read, or None."""
        if self.grant is None:
            return "a token is needed"
        return self.grant.refusal(topic, wants.keys, wants.prefix)

    def welcome(self, subscription: Subscription) -> bool:
        """It is one of ours now, unless the client has gone meanwhile."""
        if self.is_closing:
            self.door.joining.leave(subscription)
            return False
        self.subscriptions[subscription.id] = subscription
        self.door.newcomers.pop(self.transport, None)
        return True

    def drop_subscription(self, subscription: Subscription) -> None:
        if self.subscriptions.pop(subscription.id, None) is not None:
            self._pause(subscription, False)
            self.door.joining.leave(subscription)

    def end(self, code: int, reason: str) -> None:
        """Say goodbye and close, at the latest after a few seconds."""
        if self.is_closing:
            return
        self.is_closing = True
        self._leave()
        if not self.transport.is_closing():
            self.write_now(self.farewell(code, reason))
            self.transport.close()
            asyncio.get_running_loop().call_later(_CLOSE_SECONDS, self.transport.abort)

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closing = True
        self.out.clear()
        self._leave()
        self.door.gone(self)

    def pause_writing(self) -> None:
        self.is_slow = True
        self.slow_since = time.time()
        self.door.slow[self] = None

    def resume_writing(self) -> None:
        self.is_slow = False
        self.door.slow.pop(self, None)
        if not self.is_closing:
            self._drain()
            self.door.hub.wake()

    def _drain(self) -> None:
        """Send what slow subscriptions have kept, as much at a time as a socket takes."""
        if self.is_slow or self.is_closing:
            return
        left = False
        for subscription in list(self.subscriptions.values()):
            if subscription.backlog is not None:
                left = self._drain_backlog(subscription, subscription.backlog) or left
            elif subscription.is_paused:
                self._pause(subscription, False)
        self.flush()
        if left:
            # If the socket took all, nobody calls us again.
            asyncio.get_running_loop().call_soon(self._drain)

    def _drain_backlog(self, subscription: Subscription, backlog: Backlog) -> bool:
        """Whether there is more."""
        for each in backlog.take(_DRAIN_BYTES):
            if isinstance(each, Missed):
                self._tell_missed(subscription, each)
            else:
                self.deliver(subscription, each)
        self.door.hub.ring.sweep()
        if backlog.is_settled:
            subscription.backlog = None
        return subscription.backlog is not None

    def _tell_missed(self, subscription: Subscription, missed: Missed) -> None:
        conflates = subscription.policy is Policy.CONFLATE
        reason = GapReason.CONFLATED if conflates else GapReason.SLOW
        ranges = [(missed.partition, missed.first, missed.last)]
        self.tell_gap(subscription, reason, missed.matches, ranges)

    def _hold(self, subscription: Subscription, delivery: Delivery) -> None:
        """The client is slow: what its policy says."""
        if self.is_closing:
            return
        if subscription.policy is Policy.PAUSE:
            subscription.stream.pause(subscription)
            self._pause(subscription, True)
        elif subscription.policy is Policy.DISCONNECT:
            self.door.stats.slow_disconnects += 1
            self.end(1013, "too slow: take messages faster, or choose another policy")
        else:
            self._keep(subscription, delivery)

    def _keep(self, subscription: Subscription, delivery: Delivery) -> None:
        conflates = subscription.policy is Policy.CONFLATE
        if subscription.backlog is None:
            ring = self.door.hub.ring
            subscription.backlog = Backlog(ring, subscription.buffer, conflates)
        if subscription.backlog.hold(delivery):
            subscription.dropped += 1
            if conflates:
                self.door.stats.conflated += 1
            else:
                self.door.stats.dropped += 1

    def _pause(self, subscription: Subscription, is_paused: bool) -> None:
        if subscription.is_paused != is_paused:
            subscription.is_paused = is_paused
            self.door.stats.paused += 1 if is_paused else -1

    def _leave(self) -> None:
        for subscription in list(self.subscriptions.values()):
            self.drop_subscription(subscription)


def peer_of(transport: asyncio.BaseTransport) -> str:
    """The address without the port: that is what limits count."""
    peer = transport.get_extra_info("peername")
    return cast(str, peer[0]) if peer else "unknown"
