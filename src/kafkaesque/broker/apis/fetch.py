"""Fetch (1), versions 4–18. Whole batches as they lie in the log, never rebuilt, never past the
high watermark.

- Enough there (`min_bytes`), an error, or no time to wait: answered at once. Otherwise a watcher
  sits on every partition until enough has become visible or `max_wait_ms` is over. Until then only
  sizes are kept: bytes are read when they are sent.
- One response holds a few megabytes at most, and less where the broker's budget of bytes in flight
  is short: the reader comes back at once for the rest. A fetch of many partitions is looked at in
  slices.
- To readers of committed records, what they are told of aborted transactions is bounded, too: those
  that have batches in the response. Where there are thousands, batches or whole partitions are left
  for the next one.
- The first batch is returned whole even if it exceeds the limits (KIP-74): a reader never gets
  stuck.
- Bytes that are not in the page cache are read in threads, side by side. A partition whose disk
  hangs is left out: after some seconds at first (cold_reads.py), then after `max_wait_ms`, or, with
  no thread left for it, at once where others have records. It is answered empty and without an
  error, which every client takes for "nothing yet": it asks again from the same offset. An error
  would make it ask for metadata each time.
- Version 7 brings sessions (KIP-227), 12 diverging epochs, 13 topic ids (KIP-516), 15 the replica
  state as a tag.
"""

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Iterator
from functools import partial
from typing import TypeAlias

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.cold_reads import ReadHangsError
from kafkaesque.broker.fetch_sessions import Key, Session, Wanted, count_partitions
from kafkaesque.broker.partition import Partition, check_leader_epoch
from kafkaesque.broker.partition_transactions import LOOKS
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.log import Slice
from kafkaesque.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafkaesque.types import Buffer

_READ_COMMITTED = 1
_SHARE_BYTES = 2 << 20
_SHARE_BYTES_PER_PARTITION = 64 << 10
_MAX_SHARE_BYTES = 8 << 20
"""What one response holds: some, and more where many partitions have to be looked at for it, or
where `min_bytes` asks for more. Reading and sending 50 MB would keep everybody else waiting for
20 ms and more.
"""
_SHORT_WAIT_MS = 500
"""How long a fetch may wait that comes when much is in flight: else a few clients could hold the
whole budget for weeks by asking for what never comes.
"""
_MANY_PARTITIONS = 256
_PARTITIONS_IN_A_STEP = 64

Answer: TypeAlias = FetchResponse | Awaitable[FetchResponse]
_Topics: TypeAlias = dict[tuple[str, int], FetchableTopicResponse]


def fetch(ctx: Context, request: FetchRequest) -> Answer:
    owner = (ctx.client_host, ctx.header.client_id)
    try:
        session = ctx.broker.fetch_sessions.resolve(request, owner)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    size = session.size if session.id else count_partitions(request)
    if size > _MANY_PARTITIONS:
        ctx.alone = True
        return _fetch_many(ctx, request, session)
    session.take(request)
    attempt = _Attempt(ctx, request, session)
    attempt.look()
    if attempt.is_due:
        answer = attempt.answer()
        ctx.alone = not isinstance(answer, FetchResponse)
        return answer
    return _LongPoll(ctx, request, attempt).answer


def _fetch_many(ctx: Context, request: FetchRequest, session: Session) -> Awaitable[FetchResponse]:
    answer = asyncio.ensure_future(_fetch_in_slices(ctx, request, session))

    # Not a `finally` there: a connection may be lost before that has begun.
    answer.add_done_callback(lambda _: session.taken(request))
    return answer


async def _fetch_in_slices(ctx: Context, request: FetchRequest, session: Session) -> FetchResponse:
    paced = ctx.broker.slices.paced
    if session.incremental:
        gone = ((topic, n) for topic in request.forgotten_topics_data for n in topic.partitions)
        async for forgotten, number in paced(gone):
            session.forget(forgotten, number)
    async for topic, partition in paced((t, p) for t in request.topics for p in t.partitions):
        session.want(topic, partition)
    session.taken(request)
    attempt = _Attempt(ctx, request, session)
    await attempt.look_in_slices()
    if attempt.is_due:
        return await attempt.answer_in_slices()
    return await _LongPoll(ctx, request, attempt, is_long=True).answer


class _LongPoll:
    """Waits until enough bytes have become visible in any of its partitions, and reads those.

    Callbacks rather than a coroutine: every consumer at the head has one of these under way.
    """

    __slots__ = (
        "_attempt",
        "_ctx",
        "_is_long",
        "_is_over",
        "_is_woken",
        "_moved",
        "_needed",
        "_reading",
        "_timer",
        "answer",
    )

    def __init__(
        self, ctx: Context, request: FetchRequest, attempt: "_Attempt", *, is_long: bool = False
    ) -> None:
        loop = asyncio.get_running_loop()
        self._ctx = ctx
        self._is_long = is_long
        self._attempt = attempt
        self._needed = attempt.needed
        # In the order in which they have; None: all of them.
        self._moved: dict[Partition, None] | None = {}
        self._is_over = ctx.broker.is_stopping
        self._is_woken = False
        self._reading: asyncio.Future[FetchResponse | None] | None = None
        is_idle = ctx.broker.budget.is_idle
        wait_ms = request.max_wait_ms if is_idle else min(request.max_wait_ms, _SHORT_WAIT_MS)
        self._timer = loop.call_later(wait_ms / 1000, self._time_is_over)
        self.answer: asyncio.Future[FetchResponse] = loop.create_future()
        self.answer.add_done_callback(self._end)
        ctx.broker.long_polls.add(self)
        if attempt.size:
            attempt.let_go()
        for partition in attempt.partitions():
            partition.watch(self)
        if is_long:
            # Looking took its time: what came meanwhile has told nobody.
            self._moved = None
        if is_long or self._is_over:
            self._read_soon()
        ctx.polls(self._end_soon)

    def more(self, partition: Partition, size: int) -> None:
        if self._moved is not None:
            self._moved[partition] = None
        self._needed -= size
        # Where a log has become shorter meanwhile, sizes say nothing.
        if self._needed <= 0 or size <= 0:
            self._read_soon()

    def wake(self) -> None:
        """Something else has happened: answer, whatever there is."""
        self._moved = None
        self._is_over = True
        self._read_soon()

    def _end_soon(self) -> None:
        """Others need the room. Its client will come again at once, so not at once."""
        loop = self.answer.get_loop()
        due = loop.time() + _SHORT_WAIT_MS / 1000
        if due < self._timer.when():
            self._timer.cancel()
            self._timer = loop.call_at(due, self._time_is_over)

    def _time_is_over(self) -> None:
        self._is_over = True
        self._read_again()

    def _read_soon(self) -> None:
        """In the next turn: what else is appended in this one comes along."""
        if not self._is_woken:
            self._is_woken = True
            self.answer.get_loop().call_soon(self._read_again)

    def _read_again(self) -> None:
        self._is_woken = False
        if self.answer.done() or self._reading:
            return
        attempt, moved = self._attempt, self._moved
        self._moved = {}
        if self._is_long:
            self._read_later(self._look(attempt, moved))
            return
        try:
            attempt.look_again(moved)
            if not (attempt.is_enough or self._is_over):
                self._needed = attempt.needed
                attempt.let_go()
                return
            answer = attempt.answer()
        except Exception as error:
            self.answer.set_exception(error)
            return
        if isinstance(answer, FetchResponse):
            self.answer.set_result(answer)
        else:
            self._ctx.goes_on()
            self._read_later(answer)

    async def _look(
        self, attempt: "_Attempt", moved: Collection[Partition] | None
    ) -> FetchResponse | None:
        self._ctx.goes_on()
        await attempt.look_again_in_slices(moved)
        if attempt.is_enough or self._is_over:
            return await attempt.answer_in_slices()
        self._needed = attempt.needed
        attempt.let_go()
        self._ctx.polls(self._end_soon)
        return None

    def _read_later(self, reading: Awaitable[FetchResponse | None]) -> None:
        self._reading = asyncio.ensure_future(reading)
        self._reading.add_done_callback(self._have_read)

    def _have_read(self, reading: "asyncio.Future[FetchResponse | None]") -> None:
        self._reading = None
        if self.answer.done():
            return
        if error := reading.exception():
            self.answer.set_exception(error)
        elif response := reading.result():
            self.answer.set_result(response)
        elif self._moved is None or self._moved or self._is_over:
            self._read_soon()

    def _end(self, answer: "asyncio.Future[FetchResponse]") -> None:
        """Answered, or its client has gone."""
        self._timer.cancel()
        self._ctx.broker.long_polls.discard(self)
        for partition in self._attempt.partitions():
            partition.unwatch(self)
        if self._reading is not None:
            self._reading.cancel()


class _Found:
    """What a partition has to say: how many bytes, and where they are once they are to be read."""

    __slots__ = ("data", "key", "known_aborts", "offset", "partition", "size", "slice", "wanted")

    def __init__(self, key: Key, wanted: Wanted) -> None:
        self.key = key
        self.wanted = wanted
        self.partition: Partition | None = None
        self.data: PartitionData
        self.slice: Slice | None = None
        self.size = 0
        # As they were when it was looked at: another request of the session may move the one.
        self.offset = wanted.offset
        self.known_aborts = (0, 0)


class _Attempt:
    """Looks at the partitions of a fetch, and reads them."""

    def __init__(self, ctx: Context, request: FetchRequest, session: Session) -> None:
        self._ctx = ctx
        self._session = session
        self._committed = request.isolation_level == _READ_COMMITTED
        most = min(request.max_bytes, ctx.broker.config["fetch.max.bytes"])
        share = _SHARE_BYTES + _SHARE_BYTES_PER_PARTITION * len(session.wanted)
        least = request.min_bytes
        if share < least or share > _MAX_SHARE_BYTES:
            share = min(max(share, least), _MAX_SHARE_BYTES)
        self._share = share if share < most else most
        self._min_bytes = least if least < most else most
        self._max_wait_ms = request.max_wait_ms
        self._can_wait = request.max_wait_ms > 0 and bool(session.wanted)
        # Whole batches never add up to exactly as much: to see enough, look at more than is sent.
        self._room = self._share if 2 * self._min_bytes <= self._share else most
        self._failed = False
        # Whether there is more, and it does not come this time.
        self._is_cut = False
        # What is left of the time to look for what was aborted.
        self._looks = LOOKS
        self.size = 0
        self._found: list[_Found] = []
        self._of: dict[Partition | None, _Found] = {}

    @property
    def is_enough(self) -> bool:
        return self._failed or self._is_cut or self.size >= self._min_bytes

    @property
    def is_due(self) -> bool:
        """Whether it has to be answered as it is."""
        return self.size >= self._min_bytes or self._failed or self._is_cut or not self._can_wait

    @property
    def needed(self) -> int:
        """Bytes that must become visible before it is worth reading again. To those who read what
        is committed, the few bytes of a marker may bring megabytes.
        """
        return 0 if self._committed else self._min_bytes - self.size

    def partitions(self) -> Iterator[Partition]:
        return (found.partition for found in self._found if found.partition)

    def look(self) -> None:
        """At all partitions: what there is, and where."""
        for key, wanted in self._session.wanted.items():
            self._found.append(found := _Found(key, wanted))
            self._look_at(found)

    async def look_in_slices(self) -> None:
        wanted = list(self._session.wanted.items())
        async for key, each in self._ctx.broker.slices.paced(wanted):
            self._found.append(found := _Found(key, each))
            self._look_at(found)

    def look_again(self, moved: Collection[Partition] | None) -> None:
        for found in self._found:
            if moved is None or found.partition in moved:
                self._look_at(found)

    async def look_again_in_slices(self, moved: Collection[Partition] | None) -> None:
        """At those that have moved, not through all for them."""
        if moved is None:
            some: Iterable[_Found] = self._found
        else:
            if not self._of:
                self._of = {each.partition: each for each in self._found}
            some = [self._of[partition] for partition in moved]
        async for found in self._ctx.broker.slices.paced(some):
            self._look_at(found)

    def let_go(self) -> None:
        """Keep sizes alone: it will be a while."""
        for found in self._found:
            found.slice = None

    def _look_at(self, found: _Found) -> None:
        wanted = found.wanted
        found.data = data = PartitionData(
            partition_index=wanted.partition, high_watermark=-1, records=b""
        )
        self.size -= found.size
        found.size, found.slice = 0, None
        try:
            topic = self._ctx.broker.topics.find(wanted.topic, wanted.topic_id)
            partition = topic.partition(wanted.partition)
            if found.partition is not partition:
                if found.partition is not None:
                    # Its topic was made anew: who waits here, watches the one that is gone.
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                found.partition = partition
            check_leader_epoch(wanted.current_leader_epoch)
            if partition.offline is not None:
                partition.check_online()
            limit = data.high_watermark = partition.high_watermark
            data.last_stable_offset = partition.last_stable_offset
            data.log_start_offset = partition.log.log_start_offset
            if self._committed:
                limit = data.last_stable_offset
                data.aborted_transactions = []
                found.offset, found.known_aborts = wanted.offset, _known_aborts(partition)
            max_bytes = min(wanted.max_bytes, self._room - self.size)
            there = partition.log.read(wanted.offset, max_bytes, limit, min_one=self.size == 0)
        except KafkaError as error:
            data.error_code = error.code
            self._failed = True
            return
        if there.size:
            found.slice = there
            found.size = there.size
            self.size += there.size
            if self._committed and self.size < self._min_bytes:
                self._is_cut |= partition.are_many_aborted(wanted.offset, limit)

    def answer(self) -> Answer:
        """What was seen, as much of it as may be sent now."""
        budget = self._ctx.broker.budget
        if self.size > self._share or self.size > budget.limit - budget.used:
            self._shrink()
        cold = [found for found in self._found if found.size and not self._read(found)]
        if not cold:
            return self._response()
        self._ctx.hold(self.size - sum(found.size for found in cold))
        return self._with_cold_reads(cold)

    async def answer_in_slices(self) -> FetchResponse:
        """Others read between the slices: each looks what room they have left, and counts what it
        has read until that is encoded.
        """
        budget = self._ctx.broker.budget
        if self.size > min(self._share, budget.room):
            await self._shrink_in_slices()
        cold = []
        try:
            async for found in self._ctx.broker.slices.paced(self._found):
                if self._ctx.held_bytes and found.size > budget.room:
                    self._drop(found)
                if found.size and not self._read_and_hold(found):
                    cold.append(found)
            await self._read_cold(cold)
            return await self._response_in_slices()
        except BaseException:
            self._ctx.give_back()
            raise

    def _shrink(self) -> None:
        for found in self._begin_to_shrink():
            self._look_if_there_is_room(found)

    async def _shrink_in_slices(self) -> None:
        async for found in self._ctx.broker.slices.paced(self._begin_to_shrink()):
            self._look_if_there_is_room(found)

    def _begin_to_shrink(self) -> list[_Found]:
        """What others have not read yet leaves less for this one, but never nothing."""
        self._room = min(self._share, self._ctx.broker.budget.room)
        sized = [found for found in self._found if found.size]
        for found in sized:
            self._drop(found)
        return sized

    def _look_if_there_is_room(self, found: _Found) -> None:
        if self.size < self._room or not self.size:
            self._look_at(found)

    def _read(self, found: _Found) -> bool:
        """Whether its bytes were there without waiting for the disk."""
        if found.slice is None:
            self._look_at(found)
        if found.slice is None:
            return True
        try:
            records = found.slice.read_nowait()
        except KafkaError as error:
            is_gone = found.partition is not None and found.partition.is_closed
            found.data.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_gone else error.code
            return True
        if records is None:
            return False
        self._take(found, records)
        return True

    def _take(self, found: _Found, records: Buffer) -> None:
        """What was read: its size was an estimate."""
        found.data.records, found.slice = records, None
        self.size += len(records) - found.size
        found.size = len(records)

    def _read_and_hold(self, found: _Found) -> bool:
        is_there = self._read(found)
        if is_there:
            self._ctx.hold(found.size)
        return is_there

    async def _with_cold_reads(self, cold: list[_Found]) -> FetchResponse:
        try:
            await self._read_cold(cold)
            return self._response()
        except BaseException:
            self._ctx.give_back()
            raise

    async def _read_cold(self, cold: list[_Found]) -> None:
        """Of bytes that are not there yet, those count whose read has begun: others may wait for
        long, and hold none.
        """
        hopeful = [f for f in cold if f.partition and not f.partition.cold_reads.is_stuck]
        async with asyncio.TaskGroup() as reading:
            chosen = hopeful if hopeful or self._ctx.held_bytes else cold
            async for found in self._ctx.broker.slices.paced(chosen):
                reading.create_task(self._read_from_disk(found))
        if late := {f for f in cold if not (f.data.records or f.data.error_code)}:
            await self._leave_out(late)

    async def _leave_out(self, late: set[_Found]) -> None:
        """What room they had is for others that are there. They come last next time."""
        self._session.to_the_end([found.key for found in late])
        for found in late:
            self._drop(found)
        self._room = min(
            self._room, self._share, self._ctx.broker.budget.room + self._ctx.held_bytes
        )
        async for found in self._ctx.broker.slices.paced(self._found):
            if not (found.size or found.data.error_code or found in late):
                self._look_at(found)
                if found.size and not self._read_and_hold(found):
                    self._drop(found)

    def _drop(self, found: _Found) -> None:
        self.size -= found.size
        found.size, found.slice = 0, None

    async def _read_from_disk(self, found: _Found) -> None:
        assert found.slice
        assert found.partition
        cold_reads = found.partition.cold_reads
        # Where another hangs: as long as it would wait if there was nothing.
        seconds = self._max_wait_ms / 1000 if cold_reads.hangs else None
        reading = cold_reads.run(found.slice.read, partial(self._ctx.hold, found.size))
        try:
            await asyncio.wait([reading], timeout=seconds)
        finally:
            reading.cancel()
        if reading.cancelled():
            return
        try:
            records = reading.result()
            # A topic that was deleted meanwhile may have been made anew, with files of those names.
            topic = self._ctx.broker.topics.find(found.wanted.topic, found.wanted.topic_id)
            if topic.partition(found.wanted.partition) is not found.partition:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            self._ctx.hold(len(records) - found.size)
            self._take(found, records)
        except ReadHangsError:
            pass
        except OSError:
            found.data.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        except KafkaError as error:
            found.data.error_code = error.code

    def _response(self) -> FetchResponse:
        topics: _Topics = {}
        served: list[Key] = []
        self._tell(self._found, topics, served)
        return self._told(topics, served)

    async def _response_in_slices(self) -> FetchResponse:
        topics: _Topics = {}
        served: list[Key] = []
        starts = range(0, len(self._found), _PARTITIONS_IN_A_STEP)
        async for start in self._ctx.broker.slices.paced(starts):
            self._tell(self._found[start : start + _PARTITIONS_IN_A_STEP], topics, served)
        return self._told(topics, served)

    def _tell(self, some: list[_Found], topics: _Topics, served: list[Key]) -> None:
        for found in some:
            wanted, data = found.wanted, found.data
            if data.records and self._committed:
                self._tell_aborted(found, data.records)
            told = (data.high_watermark, data.log_start_offset)
            is_news = data.records or data.error_code or told != wanted.told
            if self._session.incremental and not is_news:
                continue
            wanted.told = None if data.error_code else told
            if data.records:
                served.append(found.key)
                self._ctx.broker.traffic.fetched_bytes += len(data.records)
            name = (wanted.topic, wanted.topic_id.int)
            topic = topics.get(name)
            if topic is None:
                topic = FetchableTopicResponse(topic=wanted.topic, topic_id=wanted.topic_id)
                topics[name] = topic
            topic.partitions.append(data)

    def _tell_aborted(self, found: _Found, records: Buffer) -> None:
        """Now that they are read: which of them were aborted. What cannot be said is not sent."""
        partition, start, data = found.partition, found.offset, found.data
        assert partition
        if _known_aborts(partition) != found.known_aborts or partition.log.log_start_offset > start:
            # While they were read, some were forgotten.
            data.records = b""
            return
        told = partition.told_aborted(start, records, self._looks)
        self._looks -= told.looks
        if told.size < len(records):
            # A copy: not to keep the rest.
            data.records = bytes(records[: told.size])
            found.size = told.size
        data.aborted_transactions = [
            AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
            for each in told.aborted
        ]

    def _told(self, topics: _Topics, served: list[Key]) -> FetchResponse:
        self._session.to_the_end(served)
        return FetchResponse(session_id=self._session.id, responses=list(topics.values()))


def _known_aborts(partition: Partition) -> tuple[int, int]:
    """Changes when it forgets aborted transactions: files that are being read may have their
    records still.
    """
    return partition.reopened, partition.forgotten_aborts
