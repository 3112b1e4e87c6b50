"""The four codecs of Kafka's record batches, on cramjam, with a bound on what they unpack.

Reading accepts what every client writes; writing does what Java does. Snappy is the odd one: Java
wraps it in xerial's framing, librdkafka sends one raw block. Both are read, xerial's is written:

    82 "SNAPPY" 00 | version 1: int32 | compatible 1: int32 | (block size: int32, raw snappy block)*

LZ4 is the frame format, with independent blocks. Whatever does not unpack raises
KafkaError(CORRUPT_MESSAGE); what unpacks to more than `max_size` raises one that is also a
TooLargeError: the kilobytes of a decompression bomb must not fill the memory.
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
_LEAST_BLOCK_BYTES = 1024
_FEW_BLOCKS = 10_000
"""So many may hold less: more would only be made to keep a reader busy, a microsecond each."""
_LZ4_PIECE_BYTES = 128 * 1024
"""It holds the GIL while it compresses: other threads are let in between."""
_CLAIMS_MORE = "a block claims more"
_NO_ROOM = ("failed to write whole buffer", _CLAIMS_MORE)
_LAZY_PAGES = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


class Codec(IntEnum):
    """Bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class TooLargeError(KafkaError):
    """What was unpacked did not end where it had to."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message)


LEAST_RECORD_BYTES = 7
_BEST_RATIO = {
    Codec.NONE: 1,
    Codec.GZIP: 1032,  # 258 bytes in two bits
    Codec.SNAPPY: 22,  # 64 bytes in three
    Codec.LZ4: 255,  # as many for each byte of a length
    Codec.ZSTD: 32_768,  # a block of 128 KB in four bytes
}


def most_records(codec: Codec, size: int) -> int:
    """How many records so many bytes can hold, at the very most."""
    return size * _BEST_RATIO[codec] // LEAST_RECORD_BYTES


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
    return bytes(unpack(codec, data, max_size))


def unpack(codec: Codec, data: Buffer, max_size: int) -> Buffer:
    """`decompress` without a copy at the end. In a thread it leaves the others alone: a copy of
    megabytes would not.
    """
    try:
        if codec is Codec.NONE:
            return data
        if codec is Codec.SNAPPY:
            return _decompress_snappy(memoryview(data), max_size)
        return _decompress_into(_MODULES[codec], data, max_size)
    except cramjam.DecompressionError as error:
        message = f"{codec.name.lower()} data does not unpack within {max_size} bytes: {error}"
        if str(error) in _NO_ROOM:
            raise TooLargeError(message) from None
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message) from None


def _decompress_into(module: ModuleType, data: Buffer, max_size: int) -> memoryview:
    # These formats do not say how much they hold. Fresh pages of a private mapping cost nothing
    # until they are written, so the room may be as large as the bound, and one pass is enough.
    room = mmap.mmap(-1, max_size, flags=_LAZY_PAGES)
    try:
        size = module.decompress_into(data, room)
    except BaseException:
        room.close()  # The error keeps this frame, for as long as somebody keeps the error.
        raise
    return memoryview(room)[:size]


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


def _decompress_snappy(data: memoryview, max_size: int) -> Buffer:
    # Twice, rather than once to be kept: there can be a block for every few bytes.
    size = _unpacked_size(_snappy_blocks(data), max_size)
    pages = mmap.mmap(-1, max(size, 1), flags=_LAZY_PAGES)
    room, position = memoryview(pages)[:size], 0
    try:
        for block in _snappy_blocks(data):
            end = position + cramjam.snappy.decompress_raw_len(block)
            with room[position:end] as part:
                cramjam.snappy.decompress_raw_into(block, part)
            position = end
    except BaseException:
        room.release()
        pages.close()
        raise
    return room


def _unpacked_size(blocks: Iterator[memoryview], max_size: int) -> int:
    """A block's own first bytes say how much it unpacks to."""
    size = 0
    for count, block in enumerate(blocks, 1):
        size += cramjam.snappy.decompress_raw_len(block)
        if size > max_size:
            raise cramjam.DecompressionError(_CLAIMS_MORE)
        if count > _FEW_BLOCKS + size // _LEAST_BLOCK_BYTES:
            raise cramjam.DecompressionError(f"its first {count} blocks hold {size} bytes")
    return size


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    is_xerial = data[: len(_XERIAL_MAGIC)] == _XERIAL_MAGIC
    return _xerial_blocks(data) if is_xerial else iter((data,))


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
