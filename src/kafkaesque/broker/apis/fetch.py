"""Fetch (1), versions 4–18. Whole batches as they lie in the log, never rebuilt, never past the
high watermark.

- Enough there (`min_bytes`), an error, or no time to wait: answered at once. Otherwise a watcher
  sits on every partition until enough has become visible or `max_wait_ms` is over; then everything
  is read once more.
- The first batch is returned whole even if it exceeds the limits (KIP-74): a reader never gets
  stuck.
- Bytes that are not in the page cache are read in a thread.
- Version 7 brings sessions (KIP-227), 12 diverging epochs, 13 topic ids (KIP-516), 15 the replica
  state as a tag.
"""

import asyncio
from collections.abc import Awaitable

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.fetch_sessions import Key, Session, Wanted
from kafkaesque.broker.partition import Partition, check_leader_epoch
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.log import Slice
from kafkaesque.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

_READ_COMMITTED = 1


def fetch(ctx: Context, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    try:
        session = ctx.broker.fetch_sessions.resolve(request)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    attempt = _Attempt(ctx, request, session)
    attempt.read()
    if attempt.is_enough or request.max_wait_ms <= 0 or not session.wanted:
        return attempt.answer()
    return _long_poll(ctx, request, attempt)


async def _long_poll(ctx: Context, request: FetchRequest, attempt: "_Attempt") -> FetchResponse:
    watcher = _Watcher(request.min_bytes - attempt.size)
    for partition, seen in attempt.partitions:
        partition.watch(watcher)
        if partition.high_watermark != seen:
            watcher.wake()
    timer = asyncio.get_running_loop().call_later(request.max_wait_ms / 1000, watcher.wake)
    ctx.broker.long_polls.add(watcher)
    try:
        await watcher.woken
    finally:
        timer.cancel()
        ctx.broker.long_polls.discard(watcher)
        for partition, _ in attempt.partitions:
            partition.unwatch(watcher)
    again = _Attempt(ctx, request, attempt.session)
    again.read()
    answer = again.answer()
    return await answer if isinstance(answer, Awaitable) else answer


class _Watcher:
    """Waits until enough bytes have become visible in any of its partitions."""

    __slots__ = ("_needed", "woken")

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self.woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def more(self, size: int) -> None:
        self._needed -= size
        if self._needed <= 0:
            self.wake()

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


class _Attempt:
    """One pass over the partitions of a fetch: what each of them has to say right now."""

    def __init__(self, ctx: Context, request: FetchRequest, session: Session) -> None:
        self._ctx = ctx
        self.session = session
        self._committed = request.isolation_level == _READ_COMMITTED
        self._remaining = min(request.max_bytes, ctx.broker.config["fetch.max.bytes"])
        self._min_bytes = request.min_bytes
        self._failed = False
        self._found: list[tuple[Key, Wanted, PartitionData]] = []
        self._cold: list[tuple[PartitionData, Slice]] = []
        self.partitions: list[tuple[Partition, int]] = []
        self.size = 0

    @property
    def is_enough(self) -> bool:
        return self._failed or self.size >= self._min_bytes

    def read(self) -> None:
        for key, wanted in self.session.wanted.items():
            data = PartitionData(partition_index=wanted.partition, high_watermark=-1, records=b"")
            try:
                self._read(wanted, data)
            except KafkaError as error:
                data.error_code = error.code
                self._failed = True
            self._found.append((key, wanted, data))

    def _read(self, wanted: Wanted, data: PartitionData) -> None:
        topic = self._ctx.broker.topics.find(wanted.topic, wanted.topic_id)
        partition = topic.partition(wanted.partition)
        check_leader_epoch(wanted.current_leader_epoch)
        limit = data.high_watermark = partition.high_watermark
        data.last_stable_offset = partition.last_stable_offset
        data.log_start_offset = partition.log.log_start_offset
        if self._committed:
            limit = data.last_stable_offset
        else:
            data.aborted_transactions = None
        self.partitions.append((partition, data.high_watermark))
        max_bytes = min(wanted.max_bytes, self._remaining)
        found = partition.read(wanted.offset, max_bytes, limit, min_one=self.size == 0)
        if not found.size:
            return
        self.size += found.size
        self._remaining -= found.size
        records = found.read_nowait()
        if records is None:
            self._cold.append((data, found))
        else:
            data.records = records

    def answer(self) -> FetchResponse | Awaitable[FetchResponse]:
        return self._with_cold_reads() if self._cold else self._response()

    async def _with_cold_reads(self) -> FetchResponse:
        for data, found in self._cold:
            try:
                data.records = await self._ctx.broker.disk.run(found.read)
            except OSError:
                data.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            except KafkaError as error:
                data.error_code = error.code
        return self._response()

    def _response(self) -> FetchResponse:
        topics: dict[tuple[str, object], FetchableTopicResponse] = {}
        served = []
        for key, wanted, data in self._found:
            told = (data.high_watermark, data.log_start_offset)
            is_news = data.records or data.error_code or told != wanted.told
            if self.session.incremental and not is_news:
                continue
            wanted.told = None if data.error_code else told
            if data.records:
                served.append(key)
            topic = topics.get((wanted.topic, wanted.topic_id))
            if topic is None:
                topic = FetchableTopicResponse(topic=wanted.topic, topic_id=wanted.topic_id)
                topics[wanted.topic, wanted.topic_id] = topic
            topic.partitions.append(data)
        self.session.to_the_end(served)
        return FetchResponse(session_id=self.session.id, responses=list(topics.values()))
