"""What the clients of a worker share: who is here, who may come in, and who is asked to leave.

A client is admitted by address when it connects and by its token when it shows one. One timer looks
after all of them: it pings who is silent, closes who stays silent, and closes who has not said in
time what it wants. Above: server.py. Below: client.py, hub.py, limits.py, ../access.py.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from kafkaesque.gateway.access import Access, Grant
from kafkaesque.gateway.fanout.client import Client
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.decoded_encodings import DecodedEncodings
from kafkaesque.gateway.fanout.hub import Hub
from kafkaesque.gateway.fanout.joining import Joining, SubscribeError
from kafkaesque.gateway.fanout.limits import Limits
from kafkaesque.gateway.fanout.siblings import Siblings
from kafkaesque.gateway.fanout.stats import Slow, Stats

if TYPE_CHECKING:
    from kafkaesque.gateway.schemas import Schemas

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0


class Door:
    def __init__(self, config: FanoutConfig, siblings: Siblings, access: Access) -> None:
        self.config = config
        self.siblings = siblings
        self.access = access
        self.stats = Stats(siblings.worker, siblings.starts, slow=self._slow, topics=self._topics)
        self.hub = Hub(config, self.stats, self._schemas())
        self._decoding = None if self.hub.schemas is None else DecodedEncodings(self.hub.schemas)
        self.joining = Joining(self.hub)
        self.limits = Limits(config, time.monotonic)
        self.clients: dict[Client, None] = {}
        self.slow: dict[Client, None] = {}
        self.newcomers: dict[asyncio.Transport, float] = {}
        """Connections that have not said what they want, and since when."""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def decoding(self) -> DecodedEncodings:
        """Raises SubscribeError if nothing can be decoded here."""
        if self._decoding is None:
            raise SubscribeError(
                "nothing is decoded here: start the fan-out with --registry, or leave decode out"
            )
        return self._decoding

    def came(self, client: Client) -> None:
        """After `limits.admit`. It has a while to say what it wants."""
        self.clients[client] = None
        self.wait_for(client.transport)
        self.stats.connections += 1
        self.stats.connections_total += 1
        if not self.access.needs_token:
            self.refusal(client, None)

    def wait_for(self, transport: asyncio.Transport) -> None:
        self.newcomers[transport] = time.monotonic()

    def gone(self, client: Client) -> None:
        self.slow.pop(client, None)
        self.newcomers.pop(client.transport, None)
        if client not in self.clients:
            return
        del self.clients[client]
        self.stats.connections -= 1
        self.limits.leave(client.address)
        if client.grant is not None:
            self.limits.leave_token(client.grant)

    def refusal(self, client: Client, token: str | None) -> str | None:
        """Why the holder of this token may not come in; None: the client has its grant now."""
        grant = self.access.grant(token)
        if grant is None:
            return "the token is not known here" if token else "a token is needed"
        reason = self.limits.admit_token(grant)
        if reason is None:
            client.grant = grant
        return reason

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Something that takes a moment, and must not be lost."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def reload(self) -> None:
        """The file of tokens has changed: whoever lost a grant has to go."""
        if self.access.reload():
            self._close(
                (each for each in list(self.clients) if not self._still_welcome(each.grant)),
                1008,
                "the token is not valid any more",
            )

    async def look_after(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = time.monotonic()
            await asyncio.sleep(0)  # What has come while this process stood still is read first.
            self._close_undecided(now)
            self._ask_the_silent(now)

    async def drain(self) -> None:
        """Everybody is told that the server stops, and has a moment to take what was sent."""
        self._close(list(self.clients), 1001, "the server stops: connect again")
        for transport in list(self.newcomers):
            transport.abort()
        deadline = time.monotonic() + self.config.drain_s
        while self.clients and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        for client in list(self.clients):
            client.transport.abort()

    def _close_undecided(self, now: float) -> None:
        for transport, since in list(self.newcomers.items()):
            if now - since > self.config.handshake_s:
                del self.newcomers[transport]
                self.stats.refused += 1
                transport.abort()

    def _ask_the_silent(self, now: float) -> None:
        interval_s = self.config.ping_interval_s
        if not interval_s:
            return
        for client in list(self.clients):
            # From the ping on, not from the last word: this process itself may have stood still.
            if now - max(client.heard_at, client.pinged_at) <= interval_s:
                continue
            if client.must_answer and client.heard_at < client.pinged_at:
                client.end(1011, "no answer to a ping")
            else:
                client.pinged_at = now
                client.ping()

    def _still_welcome(self, grant: Grant | None) -> bool:
        return grant is None or self.access.still_gives(grant)

    def _close(self, clients: Iterable[Client], code: int, reason: str) -> None:
        for client in clients:
            client.end(code, reason)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a request failed", exc_info=error)

    def _schemas(self) -> "Schemas | None":
        if self.config.registry is None:
            return None
        from kafkaesque.gateway.schemas import opened

        return opened(self.config.registry, self.stats)

    def _slow(self) -> list[Slow]:
        return [
            {
                "peer": client.peer,
                "subscriptions": len(client.subscriptions),
                "dropped": sum(each.dropped for each in client.subscriptions.values()),
                "since": client.slow_since,
            }
            for client in self.slow
        ]

    def _topics(self) -> dict[str, dict[str, int]]:
        return self.hub.figures()
