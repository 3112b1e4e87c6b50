"""The four codecs of Kafka's record batches, on cramjam, with a bound on what they unpack.

Reading accepts what every client writes; writing does what Java does. Snappy is the odd one: Java
wraps it in xerial's framing, librdkafka sends one raw block. Both are read, xerial's is written:

    82 "SNAPPY" 00 | version 1: int32 | compatible 1: int32 | (block size: int32, raw snappy block)*

LZ4 is the frame format, with independent blocks. Whatever does not unpack, or unpacks to more than
`max_size`, raises KafkaError(CORRUPT_MESSAGE): the kilobytes of a decompression bomb must not fill
the memory.
"""

import mmap
import struct
from collections.abc import Iterator
from enum import IntEnum
from types import ModuleType

import cramjam

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.types import Buffer

MAX_UNCOMPRESSED_BYTES = 256 * 1024 * 1024

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_LZ4_PIECE_BYTES = 128 * 1024
"""It holds the GIL while it compresses: other threads are let in between."""
_LAZY_PAGES = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


class Codec(IntEnum):
    """Bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_MODULES = {Codec.GZIP: cramjam.gzip, Codec.LZ4: cramjam.lz4, Codec.ZSTD: cramjam.zstd}


def compress(codec: Codec, data: Buffer) -> bytes:
    if codec is Codec.NONE:
        return bytes(data)
    if codec is Codec.SNAPPY:
        return _compress_xerial(memoryview(data))
    if codec is Codec.LZ4:
        return _compress_lz4(data)
    return bytes(_MODULES[codec].compress(data))


def decompress(codec: Codec, data: Buffer, max_size: int = MAX_UNCOMPRESSED_BYTES) -> bytes:
    try:
        if codec is Codec.NONE:
            return bytes(data)
        if codec is Codec.SNAPPY:
            return _decompress_snappy(memoryview(data), max_size)
        return _decompress_into(_MODULES[codec], data, max_size)
    except cramjam.DecompressionError as error:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"{codec.name.lower()} data does not unpack within {max_size} bytes: {error}",
        ) from None


def _decompress_into(module: ModuleType, data: Buffer, max_size: int) -> bytes:
    # These formats do not say how much they hold. Fresh pages of a private mapping cost nothing
    # until they are written, so the room may be as large as the bound, and one pass is enough.
    with mmap.mmap(-1, max_size, flags=_LAZY_PAGES) as room:
        size = module.decompress_into(data, room)
        return room[:size]


def _compress_lz4(data: Buffer) -> bytes:
    # Java's client reads no frame whose blocks refer to each other.
    compressor = cramjam.lz4.Compressor(block_linked=False)
    view = memoryview(data)
    for start in range(0, len(view), _LZ4_PIECE_BYTES):
        compressor.compress(bytes(view[start : start + _LZ4_PIECE_BYTES]))
    return bytes(compressor.finish())


def _compress_xerial(data: memoryview) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (struct.pack(">i", len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, max_size: int) -> bytes:
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _decompress_block(data, max_size)
    parts: list[bytes] = []
    left = max_size
    for block in _xerial_blocks(data):
        parts.append(_decompress_block(block, left))
        left -= len(parts[-1])
    return b"".join(parts)


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    position = len(_XERIAL_HEADER)
    if position > len(data):
        raise cramjam.DecompressionError("the header is cut off")
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if position + size > len(data):
            raise cramjam.DecompressionError("a block runs past the end")
        yield data[position : position + size]
        position += size


def _decompress_block(block: memoryview, max_size: int) -> bytes:
    # The block's own first bytes say how much it unpacks to: checked before anything is allocated.
    if cramjam.snappy.decompress_raw_len(block) > max_size:
        raise cramjam.DecompressionError("a block claims more")
    return bytes(cramjam.snappy.decompress_raw(block))
