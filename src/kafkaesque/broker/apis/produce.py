"""Produce (0), versions 0–13. The ordered stage appends; the waiting stage answers when it is
durable.

- acks=0 gets no response, and an error closes its connection: there is no other way to tell. acks=1
  is answered when appended; acks=all when on disk, or, with write.caching, at once.
- Each partition fails or succeeds alone.
- Batches of compacted topics, and of topics with a codec of their own, may have to be opened first
  (opened_batches.py). What follows on the connection waits for that.
- A batch of a transaction is let in if its partition is part of the transaction; from version 12 on
  it becomes so by that (KIP-890), at once for all partitions of a request. It is answered when
  that is on disk, too.
- Versions 0–2 carry message formats before record batches and are refused with UNSUPPORTED_VERSION.
  They are advertised nevertheless: without them librdkafka silently stops compressing.
- Version 7 allows zstd (KIP-110), 8 names the records at fault (KIP-467), 13 names topics by id
  (KIP-516).
"""

import asyncio
from collections.abc import Awaitable, Generator
from contextlib import suppress
from typing import NamedTuple

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.apis.opened_batches import must_be_opened, opened
from kafkaesque.broker.partition import KeylessRecordsError, Partition
from kafkaesque.broker.topics import Topic
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafkaesque.records.batch import BatchHeader, read_header
from kafkaesque.records.compression import Codec
from kafkaesque.transactions.partitions import Partitions

_ATTRIBUTES = 22
_TRANSACTIONAL = 0x10
_ABORTABLE_FROM = 11
_ADDS_FROM = 12
_ZSTD = bytes([Codec.ZSTD])
_ZSTD_FROM = 7
_MANY_PARTITIONS = 128
_MANY_BYTES = 4 << 20
"""No client sends as much by default: to check and write it takes milliseconds."""

Waiting = dict["asyncio.Future[None]", list[PartitionProduceResponse]]
"""Answers that may be given when something is on disk."""


class _Part(NamedTuple):
    """What a request has for one partition, and what it is answered."""

    topic: TopicProduceData
    data: PartitionProduceData
    answer: PartitionProduceResponse


def produce(
    ctx: Context, request: ProduceRequest
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    waiting: Waiting = {}
    later: list[_Part] = []
    count = len(request.topic_data)
    for topic in request.topic_data:
        count += len(topic.partition_data)
    if count > _MANY_PARTITIONS or ctx.size > _MANY_BYTES:
        ctx.alone = True
        _keep_all(ctx, request)
        return _produce_to_many(ctx, request)
    if count > 2 and _adds(ctx, request):
        for _ in _add_together(ctx, request):
            pass
    response = ProduceResponse(
        responses=[
            _append_topic(ctx, request, topic, waiting, later) for topic in request.topic_data
        ]
    )
    if later:
        ctx.alone = True
        return _produce_in_slices(ctx, request, response, waiting, later)
    if request.acks == 0:
        _close_on_error(response)
        return None
    if waiting:
        return _Acknowledgement(response, waiting, request.timeout_ms).answer
    return response


async def _produce_to_many(ctx: Context, request: ProduceRequest) -> ProduceResponse | None:
    paced = ctx.broker.slices.paced
    response = ProduceResponse()
    later: list[_Part] = []
    async for topic in paced(request.topic_data):
        answers: list[PartitionProduceResponse] = []
        answered = TopicProduceResponse(
            name=topic.name, topic_id=topic.topic_id, partition_responses=answers
        )
        response.responses.append(answered)
        async for data in paced(topic.partition_data):
            answer = PartitionProduceResponse(index=data.index, base_offset=-1)
            answers.append(answer)
            later.append(_Part(topic, data, answer))
    if _adds(ctx, request):
        await ctx.broker.slices.run(_add_together(ctx, request))
    return await _produce_in_slices(ctx, request, response, {}, later)


async def _produce_in_slices(
    ctx: Context,
    request: ProduceRequest,
    response: ProduceResponse,
    waiting: Waiting,
    later: list[_Part],
) -> ProduceResponse | None:
    async for part in ctx.broker.slices.paced(later):
        try:
            await _append_later(ctx, request, part, waiting)
        except KafkaError as error:
            _refuse(part.answer, error)
    if request.acks == 0:
        _close_on_error(response)
        return None
    if waiting:
        return await _Acknowledgement(response, waiting, request.timeout_ms).answer
    return response


def _close_on_error(response: ProduceResponse) -> None:
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code:
                code = ErrorCode(answer.error_code).name
                name = topic.name or topic.topic_id
                raise ConnectionAbortedError(f"{code} for {name}-{answer.index} with acks=0")


def _append_topic(
    ctx: Context,
    request: ProduceRequest,
    data: TopicProduceData,
    waiting: Waiting,
    later: list[_Part],
) -> TopicProduceResponse:
    answers = []
    for partition in data.partition_data:
        answer = PartitionProduceResponse(index=partition.index, base_offset=-1)
        answers.append(answer)
        try:
            topic = ctx.broker.topics.find(data.name, data.topic_id)
            if topic.config.opens_batches and _must_be_opened(ctx, topic, partition):
                later.append(_Part(data, _kept(partition), answer))
            else:
                _append(ctx, request, topic, partition, answer, waiting)
        except KafkaError as error:
            _refuse(answer, error)
    return TopicProduceResponse(name=data.name, topic_id=data.topic_id, partition_responses=answers)


def _must_be_opened(ctx: Context, topic: Topic, data: PartitionProduceData) -> bool:
    return must_be_opened(ctx, topic.config, memoryview(data.records or b""))


def _kept(data: PartitionProduceData) -> PartitionProduceData:
    """The bytes that it was read from are needed for the next read."""
    return PartitionProduceData(index=data.index, records=bytearray(data.records or b""))


def _keep_all(ctx: Context, request: ProduceRequest) -> None:
    """The same at once for all, before anything else is read. A long request has its own bytes."""
    shared = ctx.broker.scratch.obj
    for topic in request.topic_data:
        for data in topic.partition_data:
            if isinstance(data.records, memoryview) and data.records.obj is shared:
                data.records = bytearray(data.records)


async def _append_later(
    ctx: Context, request: ProduceRequest, part: _Part, waiting: Waiting
) -> None:
    topic = ctx.broker.topics.find(part.topic.name, part.topic.topic_id)
    header = None
    if topic.config.opens_batches:
        partition = topic.partition(part.data.index)
        records = memoryview(part.data.records or b"")
        _check_request(ctx.version, request.acks, topic, records)
        part.data.records = records = await opened(ctx, partition, ctx.version, records)
        # Meanwhile the topic may have been deleted, and the partition may take something else.
        topic = ctx.broker.topics.find(part.topic.name, part.topic.topic_id)
        header = topic.partition(part.data.index).validated(records)
    _append(ctx, request, topic, part.data, part.answer, waiting, header)


def _append(
    ctx: Context,
    request: ProduceRequest,
    topic: Topic,
    data: PartitionProduceData,
    answer: PartitionProduceResponse,
    waiting: Waiting,
    header: BatchHeader | None = None,
) -> None:
    partition = topic.partition(data.index)
    records = memoryview(data.records or b"")
    _check_request(ctx.version, request.acks, topic, records)
    added = None
    if len(records) > _ATTRIBUTES and records[_ATTRIBUTES] & _TRANSACTIONAL:
        added = _admit(ctx, request, partition, records)
    end_offset = partition.log.end_offset
    header = partition.append(records, header)
    if header.base_offset >= end_offset:  # Else it was a retry of what is there.
        traffic = ctx.broker.traffic
        traffic.produced_batches += 1
        traffic.produced_records += header.count
        traffic.produced_bytes += header.size
    answer.base_offset = header.base_offset
    answer.log_start_offset = partition.log.log_start_offset
    if topic.config.log_append_time:
        answer.log_append_time_ms = header.max_timestamp
    if request.acks == -1 and (future := partition.durable(header.next_offset, waiting)):
        waiting.setdefault(future, []).append(answer)
    if added is not None and not topic.config.write_caching:
        waiting.setdefault(added, []).append(answer)


def _check_request(version: int, acks: int, topic: Topic, records: memoryview) -> None:
    if version < 3:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Produce is supported from version 3 on")
    if acks not in (-1, 0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={acks}: -1, 0 or 1")
    if topic.is_internal:
        message = f"{topic.name} is the broker's own: clients may read it, not write it"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    if version >= _ZSTD_FROM:
        return
    is_zstd = records[_ATTRIBUTES : _ATTRIBUTES + 1] == _ZSTD
    if is_zstd and topic.config.codec is not Codec.ZSTD:
        message = "zstd needs Produce 7 or later"
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)


def _admit(
    ctx: Context, request: ProduceRequest, partition: Partition, records: memoryview
) -> "asyncio.Future[None] | None":
    if request.acks != -1:
        message = f"acks={request.acks}: a transaction needs acks=all"
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, message)
    if request.transactional_id is None:
        message = "a batch of a transaction in a request that does not name it"
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, message)
    header = read_header(records)
    try:
        return ctx.broker.transactions.admit(
            request.transactional_id,
            header.producer_id,
            header.producer_epoch,
            partition.name,
            adds=ctx.version >= _ADDS_FROM,
        )
    except KafkaError as error:
        raise KafkaError(_as_said_by_produce(ctx.version, error.code), error.message) from error


def _adds(ctx: Context, request: ProduceRequest) -> bool:
    """Whether its batches make their partitions part of a transaction."""
    return request.transactional_id is not None and ctx.version >= _ADDS_FROM and request.acks == -1


def _add_together(ctx: Context, request: ProduceRequest) -> Generator[None, None, None]:
    """Add all partitions that have batches of a transaction, in one go for each producer."""
    assert request.transactional_id is not None
    claims: dict[tuple[int, int], dict[str, set[int]]] = {}
    for data in request.topic_data:
        yield
        for part in data.partition_data:
            yield
            with suppress(KafkaError):
                # As if it were appended: what is refused there is no part of the transaction.
                topic = ctx.broker.topics.find(data.name, data.topic_id)
                topic.partition(part.index)
                header = read_header(part.records or b"")
                if header.is_transactional and not topic.is_internal:
                    whose = header.producer_id, header.producer_epoch
                    claims.setdefault(whose, {}).setdefault(topic.name, set()).add(part.index)
    for whose, topics in claims.items():
        yield  # Anyone may claim to be another producer with each batch.
        partitions = Partitions.by_topic(topics)
        ctx.broker.transactions.add_together(request.transactional_id, *whose, partitions)


def _as_said_by_produce(version: int, error: ErrorCode) -> ErrorCode:
    """What producers understand here: earlier ones know neither a retry nor a way back."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.INVALID_TXN_STATE and version >= _ABORTABLE_FROM:
        return ErrorCode.TRANSACTION_ABORTABLE
    if error is ErrorCode.CONCURRENT_TRANSACTIONS and version < _ADDS_FROM:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return error


class _Acknowledgement:
    """Answers when every partition of a request has been flushed, or has failed, or it is late."""

    __slots__ = ("_pending", "_response", "_timeout_ms", "_timer", "answer")

    def __init__(self, response: ProduceResponse, waiting: Waiting, timeout_ms: int) -> None:
        loop = asyncio.get_running_loop()
        self._response = response
        self._timeout_ms = timeout_ms
        self._pending = waiting
        self._timer = loop.call_later(timeout_ms / 1000, self._give_up)
        self.answer: asyncio.Future[ProduceResponse] = loop.create_future()
        for future in self._pending:
            future.add_done_callback(self._flushed)

    def _flushed(self, future: "asyncio.Future[None]") -> None:
        answers = self._pending.pop(future, None)
        if answers is None:
            return  # It was given up.
        if isinstance(error := future.exception(), KafkaError):
            for answer in answers:
                _refuse(answer, error)
        if not self._pending:
            self._timer.cancel()
            self.answer.set_result(self._response)

    def _give_up(self) -> None:
        late = KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"not on disk within {self._timeout_ms} ms")
        for answers in self._pending.values():
            for answer in answers:
                _refuse(answer, late)
        self._pending.clear()
        self.answer.set_result(self._response)


def _refuse(answer: PartitionProduceResponse, error: KafkaError) -> None:
    answer.error_code = error.code
    answer.error_message = error.message
    answer.base_offset = -1
    if isinstance(error, KeylessRecordsError):
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=i, batch_index_error_message=error.message)
            for i in error.indexes
        ]
