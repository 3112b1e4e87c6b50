"""Reading partitions as they are written: whole batches, straight from Fetch, on an event loop.

    async with Fetcher(connection) as fetcher:
        fetcher.seek(TopicPartition("ticks", 0), 12)
        for fetched in await fetcher.fetch():
            for record in fetched.records(): ...

Each leader is asked by one request at a time, in a fetch session, from a task of its own. What has
come is looked at in `fetch`, and only there: positions move when it returns, so that a call that is
cancelled loses nothing, and what was asked for before a `seek` is dropped. Partitions without a
leader (new ones, those whose leader has moved or gone) are looked up by one more task, again and
again with growing pauses, while the others are read on.
Above: gateway/. Below: leader.py, links.py, fetched.py, list_offsets.py.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType, TracebackType
from typing import Final

from kafkaesque.client.cluster_metadata import ClusterMetadata, error_code
from kafkaesque.client.connection import ClusterError, Connection, RefusedError
from kafkaesque.client.fetch_session import Limits
from kafkaesque.client.fetched import Fetched, size_of_first, whole_batches
from kafkaesque.client.leader import Leader
from kafkaesque.client.links import Links
from kafkaesque.client.list_offsets import EARLIEST, LATEST, RETRIABLE, offsets, patiently
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.fetch import FetchResponse, PartitionData
from kafkaesque.types import TopicPartition

__all__ = ["EARLIEST", "LATEST", "Fetched", "Fetcher"]

_READ_UNCOMMITTED: Final = 0
_READ_COMMITTED: Final = 1
_PAUSES_S: Final = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
_WORTH_TELLING: Final = 3
"""Troubles in a row. One or two are how a leader moves."""
_UNKNOWN: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
}
_UNKNOWN_FOR_S: Final = 3.0
"""A topic that is new is not known to every broker at once; one that stays unknown is not there."""


class Fetcher:
    """A reader of partitions, each from where it was told to. Made for one event loop."""

    def __init__(
        self,
        connection: Connection,
        *,
        tell: Callable[[str], None] | None = None,
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 8 << 20,
        partition_max_bytes: int = 1 << 20,
        read_committed: bool = True,
        tell_silence: bool = False,
    ) -> None:
        """`tell_silence`: a partition of which an answer brought nothing is told of as well."""
        self.bytes_fetched = 0
        """Bytes of records that have come."""
        self._connection = connection
        self._tell = tell or (lambda _: None)
        self._isolation_level = _READ_COMMITTED if read_committed else _READ_UNCOMMITTED
        self._limits = Limits(max_wait_ms, min_bytes, max_bytes, self._isolation_level)
        self._partition_max_bytes = partition_max_bytes
        self._tells_silence = tell_silence
        self._readable: dict[TopicPartition, int] = {}
        """As the leader has told last: in a session it tells only what has changed."""
        self._links = Links(connection)
        self._leaders: dict[int, Leader] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._homes: dict[TopicPartition, Leader] = {}
        self._homeless: set[TopicPartition] = set()
        self._unknown_since_s: dict[TopicPartition, float] = {}
        self._troubles: dict[TopicPartition, int] = {}
        self._verdicts: dict[TopicPartition, ErrorCode] = {}
        """Of lookups, for the owner."""
        self._failure: Exception | None = None
        """To be raised by `fetch`."""
        self._is_waiting = False
        self._lookup: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._wake = asyncio.Event()

    async def __aenter__(self) -> "Fetcher":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._lookup is not None:
            self._lookup.cancel()
            await asyncio.wait([self._lookup])
        for leader in self._leaders.values():
            await leader.close()
        self._leaders.clear()
        await self._links.close()
        await asyncio.sleep(0)  # What was aborted is closed by then.

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """Where each partition goes on."""
        return MappingProxyType(self._positions)

    def seek(self, place: TopicPartition, offset: int) -> None:
        """Read a partition from there on, whether or not it is being read."""
        self._positions[place] = offset
        self._verdicts.pop(place, None)
        if home := self._homes.get(place):
            home.session.want(place, offset, self._partition_max_bytes)
        else:
            self._homeless.add(place)
            self._hurry.set()
        self._wake.set()

    def forget(self, place: TopicPartition) -> None:
        self._positions.pop(place, None)
        self._homeless.discard(place)
        self._verdicts.pop(place, None)
        self._troubles.pop(place, None)
        self._unknown_since_s.pop(place, None)
        if home := self._homes.pop(place, None):
            home.session.forget(place)

    async def fetch(self) -> list[Fetched]:
        """What there is to read, or to decide, as soon as there is anything.

        A partition with an error is forgotten until it is sought again. Raises RefusedError for
        what waiting does not cure: a wrong password, a certificate that is not trusted.
        """
        while True:
            fetched = self._take()
            if fetched:
                return fetched
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            self._start()
            self._wake.clear()
            await self._wake.wait()

    async def partitions(self, topics: Collection[str] | None = None) -> dict[str, int]:
        """How many partitions these topics have, or all but internal ones. Creates nothing.

        A topic that does not exist is left out. Raises ClusterError if nobody answers in time.
        """
        if topics is not None and not topics:
            return {}
        metadata = await self.metadata(topics)
        internal = metadata.internal if topics is None else ()
        return {name: count for name, count in metadata.counts.items() if name not in internal}

    async def metadata(self, topics: Collection[str] | None) -> ClusterMetadata:
        """Of these topics, or of all, as `partitions` says."""
        return await patiently(self._links, lambda: self._known(topics))

    async def offsets(self, places: Iterable[TopicPartition], at: int) -> dict[TopicPartition, int]:
        """The offsets at EARLIEST, LATEST or a timestamp in ms (after the last record: the end).

        LATEST is where a reader of committed records stops, if this is one. Raises KafkaError for
        a partition that is not there, ClusterError if nobody answers in time.
        """
        return await offsets(self._links, places, at, self._isolation_level)

    async def _known(self, topics: Collection[str] | None) -> ClusterMetadata:
        metadata = await self._links.metadata(topics)
        for name, error in metadata.errors.items():
            if error not in _UNKNOWN and error is not ErrorCode.INVALID_TOPIC_EXCEPTION:
                raise KafkaError(error, f"{name}: {error.name}")
        return metadata

    def _start(self) -> None:
        for leader in self._leaders.values():
            if leader.is_idle and len(leader.session):
                leader.start(self._wake.set)
        if self._homeless and self._lookup is None:
            self._lookup = asyncio.get_running_loop().create_task(self._look_up())

    def _take(self) -> list[Fetched]:
        """What has come since the last time."""
        fetched = [self._decide(place, error) for place, error in [*self._verdicts.items()]]
        for node_id, leader in [*self._leaders.items()]:
            if leader.response is not None:
                response, leader.response = leader.response, None
                fetched += self._absorb(node_id, leader, response)
            elif leader.failure is not None:
                self._give_up(node_id, leader, leader.failure)
        return fetched

    def _absorb(self, node_id: int, leader: Leader, response: FetchResponse) -> list[Fetched]:
        if not leader.session.answered(response):
            return []
        if response.error_code:
            code = error_code(response.error_code)
            problem = f"{leader.broker} cannot be read from now ({code.name}): see its log"
            self._give_up(node_id, leader, ClusterError(problem))
            return []
        found = [
            self._look_at(leader, TopicPartition(topic.topic, data.partition_index), data)
            for topic in response.responses
            for data in topic.partitions
        ]
        if self._tells_silence and not response.throttle_time_ms:
            found += self._silent(leader, response)
        # Those still at home with this leader are as well as their silence says.
        self._troubles = {
            place: count
            for place, count in self._troubles.items()
            if self._homes.get(place) is not leader
        }
        self._tell_of_return()
        return [each for each in found if each is not None]

    def _look_at(
        self, leader: Leader, place: TopicPartition, data: PartitionData
    ) -> Fetched | None:
        offset = leader.session.asked(place)
        if offset is None:
            return None
        if not data.error_code:
            is_stable = self._isolation_level == _READ_COMMITTED and data.last_stable_offset >= 0
            self._readable[place] = data.last_stable_offset if is_stable else data.high_watermark
            return self._open(leader, place, offset, data)
        error = error_code(data.error_code)
        if error in RETRIABLE or error in _UNKNOWN:
            self._lose(place, f"{place} cannot be read ({error.name})")
            return None
        return self._decide(place, error, data.high_watermark, data.log_start_offset)

    def _open(
        self, leader: Leader, place: TopicPartition, offset: int, data: PartitionData
    ) -> Fetched | None:
        records = data.records
        if not records:
            return None
        self.bytes_fetched += len(records)
        try:
            found = whole_batches(records)
        except KafkaError as error:
            return self._decide(place, error.code, data.high_watermark, data.log_start_offset)
        if not found:
            leader.session.want(place, offset, size_of_first(records))
            return None
        position, last = found[-1]
        next_offset = last.next_offset
        if next_offset <= offset:
            return None
        self._positions[place] = next_offset
        leader.session.want(place, next_offset, self._partition_max_bytes)
        return Fetched(
            place,
            offset,
            next_offset,
            bytes(records[: position + last.size]),
            data.high_watermark,
            data.log_start_offset,
            tuple((it.producer_id, it.first_offset) for it in data.aborted_transactions)
            if data.aborted_transactions
            else (),
            batches=found,
            readable=self._readable[place],
        )

    def _silent(self, leader: Leader, response: FetchResponse) -> list[Fetched]:
        """What was asked for and is not there: compaction may leave the end of a log empty.

        An answer without any records says so (KIP-74: where there are some, it brings a batch); one
        that is full may only have had no room.
        """
        if any(data.records for topic in response.responses for data in topic.partitions):
            return []
        return [
            Fetched(place, offset, offset, b"", -1, -1, readable=self._readable[place])
            for place, offset in leader.session.unmoved()
            if place in self._readable
        ]

    def _decide(
        self,
        place: TopicPartition,
        error: ErrorCode,
        high_watermark: int = -1,
        log_start_offset: int = -1,
    ) -> Fetched:
        """The owner has to."""
        offset = self._positions[place]
        self.forget(place)
        return Fetched(place, offset, offset, b"", high_watermark, log_start_offset, (), error)

    def _give_up(self, node_id: int, leader: Leader, failure: Exception) -> None:
        """The link to a leader is lost: whoever leads its partitions now is looked up."""
        del self._leaders[node_id]
        leader.abandon()
        self._keep(failure)
        for place in [place for place, home in self._homes.items() if home is leader]:
            self._lose(place, str(failure))

    def _keep(self, failure: Exception) -> None:
        """Of what goes wrong only a ClusterError may pass by itself."""
        if isinstance(failure, RefusedError) or not isinstance(failure, ClusterError):
            self._failure = failure

    def _lose(self, place: TopicPartition, reason: str) -> None:
        if home := self._homes.pop(place, None):
            home.session.forget(place)
        self._homeless.add(place)
        self._trouble(place, reason)

    def _trouble(self, place: TopicPartition, reason: str) -> None:
        self._troubles[place] = self._troubles.get(place, 0) + 1
        if self._troubles[place] >= _WORTH_TELLING:
            self._tell_of_absence(reason)

    def _tell_of_absence(self, reason: str) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._tell(f"waiting for the cluster: {reason}")

    def _tell_of_return(self) -> None:
        if self._is_waiting and not self._troubles:
            self._is_waiting = False
            self._tell("the cluster is back")

    async def _look_up(self) -> None:
        try:
            await self._pause()
            places = frozenset(self._homeless)
            metadata = await self._links.metadata({place.topic for place in places})
            for place in places & self._homeless:
                self._settle(place, metadata)
        except Exception as error:
            self._keep(error)
            for place in self._homeless:
                self._trouble(place, str(error))
        finally:
            self._lookup = None
            self._wake.set()

    async def _pause(self) -> None:
        """As long as the least troubled partition needs; a new one needs none."""
        self._hurry.clear()
        least = min((self._troubles.get(place, 0) for place in self._homeless), default=0)
        try:
            async with asyncio.timeout(_PAUSES_S[min(least, len(_PAUSES_S) - 1)]):
                await self._hurry.wait()
        except TimeoutError:
            pass

    def _settle(self, place: TopicPartition, metadata: ClusterMetadata) -> None:
        error = metadata.error_of(place)
        if error in _UNKNOWN:
            now_s = asyncio.get_running_loop().time()
            if now_s - self._unknown_since_s.setdefault(place, now_s) < _UNKNOWN_FOR_S:
                self._troubles[place] = self._troubles.get(place, 0) + 1
                return
        else:
            self._unknown_since_s.pop(place, None)
        if error in RETRIABLE:
            self._trouble(place, f"{place} cannot be read ({error.name})")
            return
        self._homeless.discard(place)
        if error is ErrorCode.NONE:
            self._settle_at(place, metadata.leaders[place], metadata)
        else:
            self._verdicts[place] = error

    def _settle_at(self, place: TopicPartition, node_id: int, metadata: ClusterMetadata) -> None:
        broker = metadata.nodes[node_id]
        leader = self._leaders.get(node_id)
        if leader is not None and leader.broker != broker:
            self._give_up(node_id, leader, ClusterError(f"{leader.broker} is {broker} now"))
            leader = None
        if leader is None:
            leader = Leader(broker, self._connection, self._limits, self._complete)
            self._leaders[node_id] = leader
        self._homes[place] = leader
        leader.session.want(place, self._positions[place], self._partition_max_bytes)

    async def _complete(self, response: FetchResponse) -> None:
        """Kafka does not say where a partition begins and ends when an offset is out of range."""
        for topic in response.responses:
            for data in topic.partitions:
                if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and data.log_start_offset < 0:
                    place = TopicPartition(topic.topic, data.partition_index)
                    try:
                        data.log_start_offset = await self._edge(place, EARLIEST)
                        data.high_watermark = await self._edge(place, LATEST)
                    except (ClusterError, KafkaError):
                        pass

    async def _edge(self, place: TopicPartition, at: int) -> int:
        return (await offsets(self._links, [place], at, _READ_UNCOMMITTED))[place]
