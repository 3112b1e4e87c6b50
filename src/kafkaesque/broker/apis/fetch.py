"""Fetch (1), versions 4–18. Whole batches as they lie in the log, never rebuilt, never past the
high watermark.

- Enough there (`min_bytes`), an error, or no time to wait: answered at once. Otherwise a watcher
  sits on every partition until enough has become visible or `max_wait_ms` is over; then what has
  moved is read once more.
- The first batch is returned whole even if it exceeds the limits (KIP-74): a reader never gets
  stuck.
- Bytes that are not in the page cache are read in a thread.
- Version 7 brings sessions (KIP-227), 12 diverging epochs, 13 topic ids (KIP-516), 15 the replica
  state as a tag.
"""

import asyncio
from collections.abc import Awaitable, Container, Iterator

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.fetch_sessions import Key, Session, Wanted
from kafkaesque.broker.partition import Partition, check_leader_epoch
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.log import Slice
from kafkaesque.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

_READ_COMMITTED = 1
_SHARE_BYTES = 2 << 20
_SHARE_BYTES_PER_PARTITION = 64 << 10
_MAX_SHARE_BYTES = 8 << 20
"""What one response holds unless `min_bytes` asks for more: some, and more where many partitions
have to be looked at for it. Reading and sending 50 MB would keep everybody else waiting for 20 ms
and more; the reader comes back at once for the rest.
"""


def fetch(ctx: Context, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    try:
        session = ctx.broker.fetch_sessions.resolve(request)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    attempt = _Attempt(ctx, request, session)
    if attempt.is_enough or request.max_wait_ms <= 0 or not session.wanted:
        return attempt.answer()
    return _LongPoll(ctx, request, attempt).answer


class _LongPoll:
    """Waits until enough bytes have become visible in any of its partitions, and reads those.

    Callbacks rather than a coroutine: every consumer at the head has one of these under way.
    """

    __slots__ = (
        "_attempt",
        "_cold",
        "_ctx",
        "_is_over",
        "_is_woken",
        "_moved",
        "_needed",
        "_timer",
        "answer",
    )

    def __init__(self, ctx: Context, request: FetchRequest, attempt: "_Attempt") -> None:
        loop = asyncio.get_running_loop()
        self._ctx = ctx
        self._attempt = attempt
        self._needed = attempt.needed
        self._moved: set[Partition] = set()
        self._is_over = False
        self._is_woken = False
        self._cold: asyncio.Future[FetchResponse] | None = None
        self._timer = loop.call_later(request.max_wait_ms / 1000, self._time_is_over)
        self.answer: asyncio.Future[FetchResponse] = loop.create_future()
        self.answer.add_done_callback(self._end)
        ctx.broker.long_polls.add(self)
        for partition in attempt.partitions():
            partition.watch(self)

    def more(self, partition: Partition, size: int) -> None:
        self._moved.add(partition)
        self._needed -= size
        if self._needed <= 0:
            self._read_soon()

    def wake(self) -> None:
        """Something else has happened: answer, whatever there is."""
        self._moved.update(self._attempt.partitions())
        self._is_over = True
        self._read_soon()

    def _time_is_over(self) -> None:
        self._is_over = True
        self._read_again()

    def _read_soon(self) -> None:
        """In the next turn: what else is appended in this one comes along."""
        if not self._is_woken:
            self._is_woken = True
            self.answer.get_loop().call_soon(self._read_again)

    def _read_again(self) -> None:
        if self.answer.done() or self._cold:
            return
        attempt, moved = self._attempt, self._moved
        self._moved, self._is_woken = set(), False
        try:
            attempt.read_again(moved)
            if not (attempt.is_enough or self._is_over):
                self._needed = attempt.needed
                return
            answer = attempt.answer()
        except Exception as error:
            self.answer.set_exception(error)
            return
        if isinstance(answer, FetchResponse):
            self.answer.set_result(answer)
        else:
            self._cold = asyncio.ensure_future(answer)
            self._cold.add_done_callback(self._have_read)

    def _have_read(self, cold: "asyncio.Future[FetchResponse]") -> None:
        if self.answer.done():
            return
        if error := cold.exception():
            self.answer.set_exception(error)
        else:
            self.answer.set_result(cold.result())

    def _end(self, answer: "asyncio.Future[FetchResponse]") -> None:
        """Answered, or its client has gone."""
        self._timer.cancel()
        self._ctx.broker.long_polls.discard(self)
        for partition in self._attempt.partitions():
            partition.unwatch(self)
        if self._cold is not None:
            self._cold.cancel()


class _Found:
    """What a partition has to say: `size` bytes, in `data` or still to be read from the disk."""

    __slots__ = ("cold", "data", "key", "partition", "size", "wanted")

    def __init__(self, key: Key, wanted: Wanted) -> None:
        self.key = key
        self.wanted = wanted
        self.partition: Partition | None = None
        self.data: PartitionData
        self.cold: Slice | None = None
        self.size = 0


class _Attempt:
    """A pass over the partitions of a fetch, and another over those that have moved since."""

    def __init__(self, ctx: Context, request: FetchRequest, session: Session) -> None:
        self._ctx = ctx
        self._session = session
        self._committed = request.isolation_level == _READ_COMMITTED
        share = _SHARE_BYTES + _SHARE_BYTES_PER_PARTITION * len(session.wanted)
        share = max(min(share, _MAX_SHARE_BYTES), request.min_bytes)
        self._remaining = min(request.max_bytes, ctx.broker.config["fetch.max.bytes"], share)
        self._min_bytes = request.min_bytes
        self._failed = False
        self.size = 0
        self._found = [_Found(key, wanted) for key, wanted in session.wanted.items()]
        for found in self._found:
            self._read(found)

    @property
    def is_enough(self) -> bool:
        return self._failed or self.size >= self._min_bytes

    @property
    def needed(self) -> int:
        """Bytes that must become visible before it is worth reading again. To those who read what
        is committed, the few bytes of a marker may bring megabytes.
        """
        return 0 if self._committed else self._min_bytes - self.size

    def partitions(self) -> Iterator[Partition]:
        return (found.partition for found in self._found if found.partition)

    def read_again(self, moved: Container[Partition]) -> None:
        for found in self._found:
            if found.partition in moved:
                self.size -= found.size
                self._remaining += found.size
                found.size, found.cold = 0, None
                self._read(found)

    def _read(self, found: _Found) -> None:
        found.data = PartitionData(
            partition_index=found.wanted.partition, high_watermark=-1, records=b""
        )
        try:
            self._read_partition(found, found.wanted, found.data)
        except KafkaError as error:
            found.data.error_code = error.code
            self._failed = True

    def _read_partition(self, found: _Found, wanted: Wanted, data: PartitionData) -> None:
        topic = self._ctx.broker.topics.find(wanted.topic, wanted.topic_id)
        found.partition = partition = topic.partition(wanted.partition)
        check_leader_epoch(wanted.current_leader_epoch)
        limit = data.high_watermark = partition.high_watermark
        data.last_stable_offset = partition.last_stable_offset
        data.log_start_offset = partition.log.log_start_offset
        if self._committed:
            limit = data.last_stable_offset
            data.aborted_transactions = [
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                for each in partition.aborted(wanted.offset, limit)
            ]
        else:
            data.aborted_transactions = None
        max_bytes = min(wanted.max_bytes, self._remaining)
        there = partition.read(wanted.offset, max_bytes, limit, min_one=self.size == 0)
        if not there.size:
            return
        found.size = there.size
        self.size += there.size
        self._remaining -= there.size
        records = there.read_nowait()
        if records is None:
            found.cold = there
        else:
            data.records = records

    def answer(self) -> FetchResponse | Awaitable[FetchResponse]:
        cold = [found for found in self._found if found.cold]
        return self._with_cold_reads(cold) if cold else self._response()

    async def _with_cold_reads(self, cold: list[_Found]) -> FetchResponse:
        for found in cold:
            assert found.cold
            try:
                found.data.records = await self._ctx.broker.disk.run(found.cold.read)
            except OSError:
                found.data.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            except KafkaError as error:
                found.data.error_code = error.code
        return self._response()

    def _response(self) -> FetchResponse:
        session = self._session
        topics: dict[tuple[str, int], FetchableTopicResponse] = {}
        served = []
        for found in self._found:
            wanted, data = found.wanted, found.data
            told = (data.high_watermark, data.log_start_offset)
            is_news = data.records or data.error_code or told != wanted.told
            if session.incremental and not is_news:
                continue
            wanted.told = None if data.error_code else told
            if data.records:
                served.append(found.key)
                self._ctx.broker.traffic.fetched_bytes += found.size
            name = (wanted.topic, wanted.topic_id.int)
            topic = topics.get(name)
            if topic is None:
                topic = FetchableTopicResponse(topic=wanted.topic, topic_id=wanted.topic_id)
                topics[name] = topic
            topic.partitions.append(data)
        session.to_the_end(served)
        return FetchResponse(session_id=session.id, responses=list(topics.values()))
