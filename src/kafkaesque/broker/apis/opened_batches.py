"""Batches that have to be opened before they are appended: those of a topic with a codec of its own
are packed anew, and a compacted topic takes no record without a key.

Both can take long, and a few kilobytes may unpack to gigabytes. So it is done in a thread, to a
bound, a few at a time, and records are looked through in slices. Whoever sent such a batch waits
with all that follows on its connection: so a producer's batches stay in order.
Above: produce.py. Below: records/.
"""

from functools import partial

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.config import TopicConfig
from kafkaesque.broker.partition import KeylessRecordsError, Partition
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, checked_heads, payload_view, read_header
from kafkaesque.records.compression import Codec, TooLargeError
from kafkaesque.records.repacking import repacked

_ATTRIBUTES = 22
_CODEC = 0b111
_SMALL_BYTES = 32 * 1024
_ZSTD_FROM = 7
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
    async with ctx.broker.unpacking:
        if config.codec is not None and _needs_another_codec(config, version, records):
            repack = partial(repacked, records, config.codec)
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
        data = await ctx.broker.disk.run_unpacking(partial(payload_view, records, header, limit))
    except TooLargeError:
        message = f"a batch of {header.size} bytes unpacks to more than {limit}"
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message) from None
    index, keyless = 0, []
    async for head in ctx.broker.slices.paced(checked_heads(data, read_header(records))):
        if head is None:
            continue
        if not head.has_key:
            keyless.append(index)
            if len(keyless) == _MAX_KEYLESS:
                break
        index += 1
    if keyless:
        raise KeylessRecordsError(keyless)
