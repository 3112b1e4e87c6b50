"""One subscription: what it wants, what becomes of it when its client is slow, where it is.

It is *live* in a partition when it gets what the feed brings, and *lags* there while it has to read
older records first: `lag` holds the next offset of each such partition, and is None when there are
none. With the policies drop-oldest and conflate a slow one has a backlog; with pause it lags.
Above: stream.py, client.py. Below: wants.py, backlog.py.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkaesque.client.v1 import Policy
from kafkaesque.gateway.fanout.backlog import Backlog
from kafkaesque.gateway.fanout.delivery import Encoder
from kafkaesque.gateway.fanout.wants import Wants

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.client import Client
    from kafkaesque.gateway.fanout.stream import Stream


class Subscription:
    __slots__ = (
        "backlog",
        "buffer",
        "client",
        "decodes",
        "dropped",
        "encoder",
        "homes",
        "id",
        "is_checked_further",
        "is_paused",
        "lag",
        "policy",
        "start",
        "stream",
        "wants",
    )

    def __init__(
        self,
        number: int,
        client: "Client",
        stream: "Stream",
        wants: Wants,
        encoder: Encoder,
        policy: Policy,
        buffer: int,
        decodes: bool = False,
    ) -> None:
        self.id = number
        self.client = client
        self.stream = stream
        self.wants = wants
        self.is_checked_further = wants.is_checked_further
        self.encoder = encoder
        self.decodes = decodes
        """Whether its encoder shows what keys and values say, by their schemas."""
        self.policy = policy
        self.buffer = buffer
        self.start: Mapping[int, int] = {}
        """Where it begins, by partition; others may share the object."""
        self.homes: frozenset[int] | None = None
        """The partitions that its keys are put in; None: it may find something in any."""
        self.lag: dict[int, int] | None = None
        self.backlog: Backlog | None = None
        self.dropped = 0
        self.is_paused = False

    @property
    def is_at_ease(self) -> bool:
        """Live in all partitions, with a client that takes what comes."""
        return self.lag is None and self.backlog is None and not self.client.is_slow

    def fall_behind(self, partition: int, offset: int) -> None:
        """Read from there on before what the feed brings."""
        if self.lag is None:
            self.lag = {}
        self.lag[partition] = offset

    def catch_up(self, partition: int) -> bool:
        """It is live in this partition now; whether that is so in all of them."""
        assert self.lag is not None
        del self.lag[partition]
        if not self.lag:
            self.lag = None
        return self.lag is None
