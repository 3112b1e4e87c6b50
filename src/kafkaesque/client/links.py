"""The links to a cluster's brokers, one each for questions that are answered at once.

A Fetch may wait, and keeps what comes after it on its link waiting: fetch.py has links of its own.
`metadata` asks whoever answers: brokers that are linked, those that the cluster has named, those
that the user has named. Above: fetch.py, list_offsets.py. Below: link.py, cluster_metadata.py.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeVar

from kafkaesque.client.cluster_metadata import ClusterMetadata
from kafkaesque.client.connection import Address, ClusterError, Connection, RefusedError
from kafkaesque.client.link import Link
from kafkaesque.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

R = TypeVar("R")

_METADATA: Final = 12
_CREATES_NOTHING: Final = 4
"""Before this version of Metadata, to ask for a topic was to create it."""


class Links:
    """Opened when they are needed, and again when they were lost."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._links: dict[Address, Link] = {}
        self._opening: defaultdict[Address, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._nodes: tuple[Address, ...] = ()

    async def ask(self, broker: Address, request: object, response: type[R], version: int) -> R:
        link = await self._to(broker)
        return await link.ask(request, response, version)

    async def metadata(self, topics: Iterable[str] | None) -> ClusterMetadata:
        """Of these topics, or of all. Raises ClusterError if no broker answers."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        failure: ClusterError | None = None
        for broker in self._brokers():
            try:
                link = await self._to(broker)
                answer = await link.ask(
                    request, MetadataResponse, _METADATA, min_version=_CREATES_NOTHING
                )
            except RefusedError:
                raise
            except ClusterError as error:
                failure = failure or error
            else:
                found = ClusterMetadata.of(answer)
                self._nodes = tuple(found.nodes.values())
                return found
        assert failure is not None
        raise failure

    async def close(self) -> None:
        for link in self._links.values():
            await link.close()
        self._links.clear()

    def _brokers(self) -> list[Address]:
        linked = [broker for broker, link in self._links.items() if not link.is_closed]
        return list(dict.fromkeys([*linked, *self._nodes, *self.connection.brokers]))

    async def _to(self, broker: Address) -> Link:
        async with self._opening[broker]:
            link = self._links.get(broker)
            if link is None or link.is_closed:
                link = self._links[broker] = await Link.open(broker, self.connection)
            return link
