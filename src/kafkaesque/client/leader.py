"""A broker as the leader of partitions that are read: its link, its fetch session, one request.

`start` sends the next request from a task of its own; what comes of it, a `response` or a
`failure`, waits here until it is taken. Above: fetch.py. Below: link.py, fetch_session.py.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.fetch_session import FetchSession, Limits
from kafkaesque.client.link import Link
from kafkaesque.protocol.messages.fetch import FetchResponse

VERSION: Final = 12
"""The last one that goes by names. Ids (KIP-516) would need a cluster that has them."""


class Leader:
    """At most one request is under way."""

    def __init__(
        self,
        broker: Address,
        connection: Connection,
        limits: Limits,
        complete: Callable[[FetchResponse], Awaitable[None]],
    ) -> None:
        self.broker = broker
        self.session = FetchSession(limits)
        self.response: FetchResponse | None = None
        self.failure: Exception | None = None
        self._connection = connection
        self._patience_s = limits.max_wait_ms / 1000
        self._complete = complete
        self._link: Link | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return self._task is None and self.response is None and self.failure is None

    def start(self, done: Callable[[], None]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._ask(done))

    async def _ask(self, done: Callable[[], None]) -> None:
        try:
            if self._link is None or self._link.is_closed:
                self._link = await Link.open(self.broker, self._connection)
                # A broker that was restarted may have given the session's number to another.
                self.session.restart()
            if len(self.session):  # All may have been forgotten while the link was opened.
                request = self.session.request()
                response = await self._link.ask(
                    request, FetchResponse, VERSION, patience_s=self._patience_s
                )
                await self._complete(response)
                self.response = response
        except Exception as error:
            self.failure = error
        finally:
            self._task = None
            done()

    def abandon(self) -> None:
        if self._link is not None:
            self._link.abort()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        elif self._link is not None and (farewell := self.session.end()):
            self._link.say(farewell, FetchResponse, VERSION)
        if self._link is not None:
            await self._link.close()
