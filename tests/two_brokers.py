"""Two brokers that pass for one cluster, for tests of clients that follow leaders.

Both have every topic, and get the same records; whoever does not lead a partition refuses to let it
be read. `lead` moves a partition, as an election would.
"""

from collections.abc import Awaitable, Sequence
from types import TracebackType
from typing import Any

from tests import foreign

from kafkaesque.broker.apis import APIS, Api, Context
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.client.connection import Address
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import FetchResponse
from kafkaesque.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from kafkaesque.types import TopicPartition

_METADATA, _FETCH = 3, 1


class TwoBrokers:
    """Nodes 0 and 1; what was never moved is led by node 0."""

    def __init__(self) -> None:
        self.fetches = [0, 0]
        self._leaders: dict[TopicPartition, int] = {}
        # Writers must find each broker to lead everything: they come to a listener of their own.
        listeners = [Listener("127.0.0.1", 0), Listener("127.0.0.1", 0)]
        config = BrokerConfig.of(listeners, None, {})
        self._threads = [BrokerThread(config, apis=self._apis(node)) for node in (0, 1)]

    @property
    def addresses(self) -> list[Address]:
        """For readers."""
        return [self._address(thread, 0) for thread in self._threads]

    def create(self, topic: str, partitions: int) -> None:
        for thread in self._threads:
            foreign.create_topic(str(self._address(thread, 1)), topic, partitions)

    def produce(self, place: TopicPartition, values: Sequence[bytes]) -> None:
        for thread in self._threads:
            foreign.produce(str(self._address(thread, 1)), place.topic, values, place.partition)

    def lead(self, place: TopicPartition, node: int) -> None:
        self._leaders[place] = node

    def stop(self, node: int) -> None:
        self._threads[node].stop()

    def __enter__(self) -> "TwoBrokers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for thread in self._threads:
            thread.stop()

    def _address(self, thread: BrokerThread, listener: int) -> Address:
        host, _, port = thread.bootstrap_servers.split(",")[listener].rpartition(":")
        return Address(host, int(port))

    def _apis(self, node: int) -> dict[int, Api]:
        metadata, fetch = APIS[_METADATA], APIS[_FETCH]

        def handle_metadata(context: Context, request: Any) -> Any:
            return self._with_leaders(context, metadata.handle(context, request))

        def handle_fetch(context: Context, request: Any) -> Any:
            self.fetches[node] += 1
            return self._refused(node, fetch.handle(context, request))

        return {
            **APIS,
            _METADATA: metadata._replace(handle=handle_metadata),
            _FETCH: fetch._replace(handle=handle_fetch),
        }

    async def _with_leaders(self, context: Context, answer: Any) -> MetadataResponse:
        found: MetadataResponse = await answer if isinstance(answer, Awaitable) else answer
        if context.advertised[2] not in {address.port for address in self.addresses}:
            return found
        found.brokers = [
            MetadataResponseBroker(node_id=node, host=address.host, port=address.port)
            for node, address in enumerate(self.addresses)
        ]
        for topic in found.topics:
            for each in topic.partitions:
                place = TopicPartition(topic.name or "", each.partition_index)
                each.leader_id = self._leaders.get(place, 0)
        return found

    async def _refused(self, node: int, answer: Any) -> FetchResponse:
        found: FetchResponse = await answer if isinstance(answer, Awaitable) else answer
        for topic in found.responses:
            for each in topic.partitions:
                if self._leaders.get(TopicPartition(topic.topic, each.partition_index), 0) != node:
                    each.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
                    each.records = b""
        return found
