"""Batches that have to be opened before they are appended: those of a topic with a codec of its own
are packed anew, and a compacted topic takes no record without a key.

Both can take long, and a few kilobytes may unpack to gigabytes. So it is done in a thread, to a
bound, a few at a time, and records are looked through in slices. What unpacks to no more than a
megabyte never waits for what unpacks to more. Whoever sent such a batch waits with all that follows
on its connection: so a producer's batches stay in order.
Above: produce.py. Below: records/.
"""

from functools import partial

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.partition import KeylessRecordsError, Partition
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, BatchHeader, checked_heads, payload_view
from kafkaesque.records.compression import Codec, TooLargeError
from kafkaesque.records.record import HEADERS_IN_A_STEP
from kafkaesque.records.repacking import repacked

_ATTRIBUTES = 22
_CODEC = 0b111
_SMALL_BYTES = 32 * 1024
_ZSTD_FROM = 7
_LITTLE_BYTES = 1024 * 1024
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
        repack = partial(repacked, records, config.codec)
        async with ctx.broker.unpacking:
            records = memoryview(await ctx.broker.disk.run_unpacking(repack))
    if config.compacted:
        await _check_keys(ctx, partition, records)
    return records


def _needs_another_codec(config: TopicConfig, version: int, records: memoryview) -> bool:
    """What cannot be packed anew is refused when it is appended."""
    if config.codec is None or not HEADER_SIZE <= len(records) <= config.max_message_bytes:
        return False
    codec = records[_ATTRIBUTES] & _CODEC
    last = Codec.LZ4 if version < _ZSTD_FROM else Codec.ZSTD
    return codec != config.codec and codec <= last


async def _check_keys(ctx: Context, partition: Partition, records: memoryview) -> None:
    header = partition.validated(records)
    limit = partition.max_unpacked_bytes
    try:
        async with ctx.broker.unpacking_little:
            await _look_through(ctx, records, header, min(_LITTLE_BYTES, limit))
            return
    except TooLargeError:
        pass
    try:
        async with ctx.broker.unpacking:
            await _look_through(ctx, records, header, limit)
    except TooLargeError:
        message = f"a batch of {header.size} bytes unpacks to more than {limit}"
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message) from None


async def _look_through(ctx: Context, records: memoryview, header: BatchHeader, limit: int) -> None:
    """Raises TooLargeError if they unpack to more than that."""
    data = await ctx.broker.disk.run_unpacking(partial(payload_view, records, header, limit))
    most = max(_MAX_LOOKED_AT, header.size)
    index, looked_at, keyless = 0, 0, []
    async for head in ctx.broker.slices.paced(checked_heads(data, header)):
        looked_at += HEADERS_IN_A_STEP if head is None else 1
        if looked_at > most:
            message = f"a batch of {header.size} bytes has more than {most} records and headers"
            raise KafkaError(ErrorCode.INVALID_RECORD, message)
        if head is None:
            continue
        if not head.has_key:
            keyless.append(index)
            if len(keyless) == _MAX_KEYLESS:
                break
        index += 1
    if keyless:
        raise KeylessRecordsError(keyless)
