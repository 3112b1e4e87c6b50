"""Codecs: what other clients write is read, bombs and broken data are refused."""

import gzip
import struct
import tracemalloc
from traceback import walk_tb

import cramjam
import lz4.frame
import pytest

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.compression import Codec, TooLargeError, compress, decompress, unpack

TEXT = b"the quick brown fox jumps over the lazy dog. " * 3000
PACKED = [codec for codec in Codec if codec is not Codec.NONE]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("data", [b"", b"x", TEXT])
def test_data_comes_back_from_any_kind_of_buffer(codec: Codec, data: bytes) -> None:
    packed = compress(codec, bytearray(data))
    for buffer in (packed, bytearray(packed), memoryview(b"__" + packed)[2:]):
        assert decompress(codec, buffer) == data


@pytest.mark.parametrize("codec", PACKED)
def test_text_becomes_smaller(codec: Codec) -> None:
    assert len(compress(codec, TEXT)) < len(TEXT) / 4


def test_gzip_is_what_the_standard_library_reads_and_writes() -> None:
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT
    assert decompress(Codec.GZIP, gzip.compress(TEXT)) == TEXT


def test_lz4_is_written_in_independent_blocks_which_is_all_that_java_reads() -> None:
    packed = compress(Codec.LZ4, TEXT)
    assert not lz4.frame.get_frame_info(packed)["block_linked"]
    assert lz4.frame.decompress(packed) == TEXT
    assert decompress(Codec.LZ4, lz4.frame.compress(TEXT, block_linked=True)) == TEXT


def test_snappy_is_written_in_xerial_frames_of_32_kib() -> None:
    packed = compress(Codec.SNAPPY, TEXT)
    assert packed[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    (size,) = struct.unpack_from(">i", packed, 16)
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + size])) == TEXT[: 32 * 1024]


def test_snappy_of_librdkafka_is_one_raw_block() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_a_xerial_block_that_claims_a_byte_more_than_there_is_is_refused() -> None:
    packed = bytearray(compress(Codec.SNAPPY, b"x" * 100))
    packed[19] += 1
    _assert_corrupt(Codec.SNAPPY, packed)


def xerial(*blocks: bytes) -> bytes:
    packed = [bytes(cramjam.snappy.compress_raw(block)) for block in blocks]
    framed = b"".join(struct.pack(">i", len(block)) + block for block in packed)
    return compress(Codec.SNAPPY, b"") + framed


def test_xerial_blocks_may_be_of_any_size() -> None:
    blocks = [b"", b"x", TEXT[:30_000], b"", TEXT[:500]] * 100
    assert decompress(Codec.SNAPPY, xerial(*blocks)) == b"".join(blocks)
    assert decompress(Codec.SNAPPY, xerial(b"", b"")) == b""
    assert len(decompress(Codec.SNAPPY, xerial(*[bytes(1024)] * 20_000))) == 20_000 * 1024


@pytest.mark.parametrize("block", [b"", b"x"])
def test_thousands_of_xerial_blocks_with_next_to_nothing_in_them_are_refused(block: bytes) -> None:
    assert decompress(Codec.SNAPPY, xerial(*[block] * 10_000)) == block * 10_000
    _assert_corrupt(Codec.SNAPPY, xerial(*[block] * 10_020))


def test_xerial_blocks_are_not_kept() -> None:
    packed = xerial(*[b"x"] * 10_000)
    tracemalloc.start()
    try:
        assert len(unpack(Codec.SNAPPY, packed, 1 << 20)) == 10_000
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_lz4_is_the_frame_format() -> None:
    assert compress(Codec.LZ4, TEXT)[:4] == bytes.fromhex("04224d18")


@pytest.mark.parametrize("codec", PACKED)
def test_data_of_exactly_the_bound_passes_and_a_byte_more_is_refused(codec: Codec) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, max_size=len(TEXT)) == TEXT
    _assert_corrupt(codec, packed, max_size=len(TEXT) - 1)


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_refused(codec: Codec) -> None:
    _assert_corrupt(codec, compress(codec, bytes(64 << 20)), max_size=1 << 20)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_who_keeps_the_error_of_a_bomb_keeps_no_room(codec: Codec) -> None:
    with pytest.raises(TooLargeError) as caught:
        decompress(codec, compress(codec, bytes(2 << 20)), 1 << 20)
    assert isinstance(caught.value.__context__, Exception)
    frames = [frame for frame, _ in walk_tb(caught.value.__context__.__traceback__)]
    assert [frame.f_locals["room"].closed for frame in frames if "room" in frame.f_locals] == [True]


def test_a_raw_snappy_block_that_claims_4_gib_is_refused_before_it_is_unpacked() -> None:
    _assert_corrupt(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f\x00\x00")


@pytest.mark.parametrize("codec", PACKED)
def test_data_cut_off_at_any_byte_is_refused(codec: Codec) -> None:
    packed = compress(codec, TEXT[:2000])
    for size in range(len(packed)):
        if codec is Codec.SNAPPY and size == 16:
            continue  # A xerial header without blocks is whole, and empty.
        _assert_corrupt(codec, packed[:size])


@pytest.mark.parametrize("codec", PACKED)
def test_a_changed_byte_unpacks_to_something_or_is_refused(codec: Codec) -> None:
    packed = bytearray(compress(codec, TEXT[:500]))
    for position in range(len(packed)):
        for flip in (0x01, 0x80, 0xFF):
            packed[position] ^= flip
            try:
                decompress(codec, packed, max_size=1 << 20)
            except KafkaError as error:
                if error.code is not ErrorCode.CORRUPT_MESSAGE:
                    raise
            packed[position] ^= flip


def _assert_corrupt(codec: Codec, data: bytes | bytearray, max_size: int = 1 << 20) -> None:
    with pytest.raises(KafkaError) as error:
        decompress(codec, data, max_size=max_size)
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE
