"""Produce (0), versions 0–13. The ordered stage appends; the waiting stage answers when it is
durable.

- acks=0 gets no response; acks=1 is answered when appended; acks=all when on disk, or, with
  write.caching, at once.
- Each partition fails or succeeds alone.
- A batch of a transaction is let in if its partition is part of the transaction; from version 12 on
  it becomes so by that (KIP-890).
- Batches for a topic with a codec of its own are packed anew first, in a thread, and appended in
  the order in which they came (recompression.py).
- Versions 0–2 carry message formats before record batches and are refused with UNSUPPORTED_VERSION.
  They are advertised nevertheless: without them librdkafka silently stops compressing.
- Version 7 allows zstd (KIP-110), 8 names the records at fault (KIP-467), 13 names topics by id
  (KIP-516).
"""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import suppress

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.partition import KeylessRecordsError, Partition
from kafkaesque.broker.recompression import Place
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
from kafkaesque.records.batch import HEADER_SIZE, read_header
from kafkaesque.records.compression import Codec

_ATTRIBUTES = 22
_TRANSACTIONAL = 0x10
_CODEC = 0b111
_ZSTD_FROM = 7
_ABORTABLE_FROM = 11
_ADDS_FROM = 12
_ZSTD = bytes([Codec.ZSTD])

Waiting = list[tuple[PartitionProduceResponse, "asyncio.Future[None]"]]


def produce(
    ctx: Context, request: ProduceRequest
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    if ctx.broker.config.recompresses:
        partitions = _partitions(ctx, request)
        if any(map(ctx.broker.recompression.concerns, partitions.values())):
            return _repack_first(ctx, request, partitions)
    return _append_all(ctx, request, {})


def _repack_first(
    ctx: Context, request: ProduceRequest, partitions: dict[int, Partition]
) -> Awaitable[ProduceResponse | None]:
    for data in _batches(request):
        # The bytes lie in a buffer that the next request is read into.
        data.records = bytearray(data.records or b"")
    place = ctx.broker.recompression.enter(set(partitions.values()))
    return _append_repacked(ctx, request, partitions, place)


async def _append_repacked(
    ctx: Context, request: ProduceRequest, partitions: dict[int, Partition], place: Place
) -> ProduceResponse | None:
    try:
        refused: dict[int, KafkaError] = {}
        for data in _batches(request):
            if id(data) in partitions:
                await _repack(ctx, data, partitions[id(data)], refused)
        await place.turn()
        answer = _append_all(ctx, request, refused)
    finally:
        place.leave()
    return await answer if isinstance(answer, Awaitable) else answer


async def _repack(
    ctx: Context, data: PartitionProduceData, partition: Partition, refused: dict[int, KafkaError]
) -> None:
    codec, records = partition.config.codec, memoryview(data.records or b"")
    if codec is None or not _can_be_repacked(ctx.version, partition, records):
        return
    try:
        data.records = await ctx.broker.recompression.repack(records, codec)
    except KafkaError as error:
        refused[id(data)] = error


def _can_be_repacked(version: int, partition: Partition, records: memoryview) -> bool:
    """What cannot is appended or refused as it is, when its turn comes."""
    if not HEADER_SIZE <= len(records) <= partition.config.max_message_bytes:
        return False
    codec = records[_ATTRIBUTES] & _CODEC
    return codec != partition.config.codec and codec <= _last_codec(version)


def _last_codec(version: int) -> Codec:
    return Codec.LZ4 if version < _ZSTD_FROM else Codec.ZSTD


def _partitions(ctx: Context, request: ProduceRequest) -> dict[int, Partition]:
    """Where each batch goes, by its identity: those that go somewhere."""
    partitions = {}
    for topic in request.topic_data:
        for data in topic.partition_data:
            with suppress(KafkaError):
                found = ctx.broker.topics.find(topic.name, topic.topic_id)
                partitions[id(data)] = found.partition(data.index)
    return partitions


def _batches(request: ProduceRequest) -> Iterator[PartitionProduceData]:
    for topic in request.topic_data:
        yield from topic.partition_data


def _append_all(
    ctx: Context, request: ProduceRequest, refused: Mapping[int, KafkaError]
) -> ProduceResponse | Awaitable[ProduceResponse] | None:
    waiting: Waiting = []
    response = ProduceResponse(
        responses=[
            _append_topic(ctx, request, topic, refused, waiting) for topic in request.topic_data
        ]
    )
    if request.acks == 0:
        return None
    if waiting:
        return _Acknowledgement(response, waiting, request.timeout_ms).answer
    return response


def _append_topic(
    ctx: Context,
    request: ProduceRequest,
    data: TopicProduceData,
    refused: Mapping[int, KafkaError],
    waiting: Waiting,
) -> TopicProduceResponse:
    answers = []
    for partition in data.partition_data:
        answer = PartitionProduceResponse(index=partition.index, base_offset=-1)
        answers.append(answer)
        try:
            if id(partition) in refused:
                raise refused[id(partition)]
            topic = ctx.broker.topics.find(data.name, data.topic_id)
            _append(ctx, request, topic, partition, answer, waiting)
        except KafkaError as error:
            _refuse(answer, error)
    return TopicProduceResponse(name=data.name, topic_id=data.topic_id, partition_responses=answers)


def _append(
    ctx: Context,
    request: ProduceRequest,
    topic: Topic,
    data: PartitionProduceData,
    answer: PartitionProduceResponse,
    waiting: Waiting,
) -> None:
    partition = topic.partition(data.index)
    records = memoryview(data.records or b"")
    _check_request(ctx.version, request.acks, topic, records)
    if len(records) > _ATTRIBUTES and records[_ATTRIBUTES] & _TRANSACTIONAL:
        _admit(ctx, request, partition, records)
    end_offset = partition.log.end_offset
    header = partition.append(records)
    if header.base_offset >= end_offset:  # Else it was a retry of what is there.
        traffic = ctx.broker.traffic
        traffic.produced_batches += 1
        traffic.produced_records += header.count
        traffic.produced_bytes += header.size
    answer.base_offset = header.base_offset
    answer.log_start_offset = partition.log.log_start_offset
    if topic.config.log_append_time:
        answer.log_append_time_ms = header.max_timestamp
    if request.acks == -1 and (future := partition.durable(header.next_offset)):
        waiting.append((answer, future))


def _check_request(version: int, acks: int, topic: Topic, records: memoryview) -> None:
    if version < 3:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "Produce is supported from version 3 on")
    if acks not in (-1, 0, 1):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={acks}: -1, 0 or 1")
    if topic.is_internal:
        message = f"{topic.name} is the broker's own: clients may read it, not write it"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    is_zstd = records[_ATTRIBUTES : _ATTRIBUTES + 1] == _ZSTD
    if version < _ZSTD_FROM and is_zstd and topic.config.codec is not Codec.ZSTD:
        message = "zstd needs Produce 7 or later"
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)


def _admit(
    ctx: Context, request: ProduceRequest, partition: Partition, records: memoryview
) -> None:
    if request.acks != -1:
        message = f"acks={request.acks}: a transaction needs acks=all"
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, message)
    if request.transactional_id is None:
        message = "a batch of a transaction in a request that does not name it"
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, message)
    header = read_header(records)
    try:
        ctx.broker.transactions.admit(
            request.transactional_id,
            header.producer_id,
            header.producer_epoch,
            partition.name,
            adds=ctx.version >= _ADDS_FROM,
        )
    except KafkaError as error:
        raise KafkaError(_as_said_by_produce(ctx.version, error.code), error.message) from error


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
        self._pending = {future: answer for answer, future in waiting}
        self._timer = loop.call_later(timeout_ms / 1000, self._give_up)
        self.answer: asyncio.Future[ProduceResponse] = loop.create_future()
        for future in self._pending:
            future.add_done_callback(self._flushed)

    def _flushed(self, future: "asyncio.Future[None]") -> None:
        answer = self._pending.pop(future, None)
        if answer is None:
            return  # It was given up.
        if isinstance(error := future.exception(), KafkaError):
            _refuse(answer, error)
        if not self._pending:
            self._timer.cancel()
            self.answer.set_result(self._response)

    def _give_up(self) -> None:
        late = KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"not on disk within {self._timeout_ms} ms")
        for answer in self._pending.values():
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
