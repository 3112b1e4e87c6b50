"""Which topics there are, and how many partitions they have: looked for again and again.

Whoever wants to know at once asks together with all who want the same, and not too often: a client
that asks for topics that are not there must not keep the cluster busy.
Above: hub.py, joining.py. Below: client/fetch.py.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.fetch import Fetcher
from kafkaesque.errors import KafkaError, StartError
from kafkaesque.gateway.fanout.stats import Stats

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0


class Lookout:
    """`changed` is told what was found, whenever something was."""

    def __init__(
        self, fetcher: Fetcher, stats: Stats, changed: Callable[[Mapping[str, int]], None]
    ) -> None:
        self.topics: dict[str, int] = {}
        """Those that there are, and how many partitions each has."""
        self._fetcher = fetcher
        self._stats = stats
        self._changed = changed
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Look for the first time. Raises StartError if the cluster does not answer."""
        try:
            await self._look(0.0)
        except (ClusterError, KafkaError) as error:
            raise StartError(str(error)) from None

    async def look(self) -> None:
        """Look again, together with whoever else wants to know."""
        if self._looking is None or self._looking.done():
            pause_s = self._looked_at + _PAUSE_SECONDS - time.monotonic()
            self._looking = asyncio.create_task(self._look(max(0.0, pause_s)))
        await asyncio.shield(self._looking)

    async def try_to_look(self) -> bool:
        """Whether the cluster has answered."""
        try:
            await self.look()
        except (ClusterError, KafkaError) as error:
            self._stats.unreachable = str(error)
            return False
        return True

    async def _look(self, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        found = await self._fetcher.partitions()
        self._looked_at = time.monotonic()
        self._stats.unreachable = ""
        if found.keys() != self.topics.keys() and self._stats.worker == 0:
            logger.info("discovered topics: %s", set(found) or "{}")
        self.topics = found
        self._changed(found)
