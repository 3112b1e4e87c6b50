"""Batches that have to be opened before they are appended: those of a topic with a codec of its own
are packed anew, and a compacted topic takes no record without a key.

Both can take long, and a few kilobytes may unpack to gigabytes. So it is done in a thread, to a
bound, a few at a time, and records are looked through in slices. What unpacks to no more than a
megabyte, with few headers, never waits for what unpacks to more. Whoever sent such a batch waits
with all that follows on its connection: so a producer's batches stay in order.
Above: produce.py. Below: records/.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.partition import KeylessRecordsError, Partition
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, BatchHeader, checked_heads, payload_view
from kafkaesque.records.compression import Codec, TooLargeError
from kafkaesque.records.repacking import MAX_UNPACKED_BYTES, repacked

T = TypeVar("T")

_ATTRIBUTES = 22
_CODEC = 0b111
_SMALL_BYTES = 32 * 1024
_ZSTD_FROM = 7
_LITTLE_BYTES, _FEW_LOOKED_AT = 1024 * 1024, 50_000
_MAX_LOOKED_AT = 1_000_000
"""Records and headers of one batch, if it is not itself of more bytes: so many are looked through
in a second, and a few kilobytes can unpack to a hundred times as many.
"""
_MAX_KEYLESS = 1000
"""Records that a response names as being without a key: there can be millions."""


def must_be_opened(ctx: Context, config: TopicConfig, records: memoryview) -> bool:
    """Whether a batch needs more time than an append may take. A short one of a compacted topic
    does not, if it is not compressed: its records are looked at when it is appended. Nor do several
    that are short together.
    """
    if _needs_another_codec(config, ctx.version, records):
        return True
    if not config.compacted:
        return False
    is_compressed = len(records) > _ATTRIBUTES and bool(records[_ATTRIBUTES] & _CODEC)
    if is_compressed or ctx.looked_at_bytes + len(records) > _SMALL_BYTES:
        return True
    ctx.looked_at_bytes += len(records)
    return False


async def opened(
    ctx: Context, partition: Partition, version: int, records: memoryview
) -> memoryview:
    """The batch as it is to be appended. Raises KafkaError for one that is not."""
    config = partition.config
    if config.codec is not None and _needs_another_codec(config, version, records):
        repack = partial(_repack, ctx, records, config.codec)
        records = memoryview(await _little_first(ctx, repack, MAX_UNPACKED_BYTES))
    if config.compacted:
        header = partition.validated(records)
        check = partial(_check_keys, ctx, records, header)
        try:
            await _little_first(ctx, check, partition.max_unpacked_bytes)
        except TooLargeError as error:
            message = (
                f"a batch of {header.size} bytes unpacks to more than is let in: {error.message}"
            )
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message) from None
    return records


async def _little_first(ctx: Context, work: Callable[[int], Awaitable[T]], limit: int) -> T:
    """With a bound of what may be unpacked: only those that unpack to more wait for their like."""
    try:
        async with ctx.broker.unpacking_little:
            return await work(min(_LITTLE_BYTES, limit))
    except TooLargeError:
        async with ctx.broker.unpacking:
            return await work(limit)


async def _repack(ctx: Context, records: memoryview, codec: Codec, limit: int) -> bytearray:
    return await ctx.broker.disk.run_unpacking(partial(repacked, records, codec, limit))


async def _check_keys(ctx: Context, records: memoryview, header: BatchHeader, limit: int) -> None:
    data = await ctx.broker.disk.run_unpacking(partial(payload_view, records, header, limit))
    most = _FEW_LOOKED_AT if limit <= _LITTLE_BYTES else max(_MAX_LOOKED_AT, header.size)
    index, looked_at, keyless = 0, 0, []
    async for head, count in ctx.broker.slices.paced(checked_heads(data, header)):
        looked_at += count
        if looked_at > most:
            raise TooLargeError(f"more than {most} records and headers")
        if head is None:
            continue
        if not head.has_key:
            keyless.append(index)
            if len(keyless) == _MAX_KEYLESS:
                break
        index += 1
    if keyless:
        raise KeylessRecordsError(keyless)


def _needs_another_codec(config: TopicConfig, version: int, records: memoryview) -> bool:
    """What cannot be packed anew is refused when it is appended."""
    if config.codec is None or not HEADER_SIZE <= len(records) <= config.max_message_bytes:
        return False
    codec = records[_ATTRIBUTES] & _CODEC
    last = Codec.LZ4 if version < _ZSTD_FROM else Codec.ZSTD
    return codec != config.codec and codec <= last
