"""A batch in another codec is the same batch, and what has come to harm stays refused."""

import itertools

import pytest
from tests.wire.requests import batch

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, crc_matches, read_header, records
from kafkaesque.records.compression import Codec
from kafkaesque.records.repacking import MAX_UNPACKED_BYTES, repacked

VALUES = [b"a" * 1000, b"", b"b" * 100_000, bytes(range(256))]
PAIRS = list(itertools.product(Codec, Codec))


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda codec: codec.name)
def test_records_and_header_stay_what_they_were(source: Codec, target: Codec) -> None:
    original = batch(VALUES, codec=source, producer=(7, 3, 11))
    result = repacked(original, target)
    before, after = read_header(original), read_header(result)
    assert after.attributes == before.attributes & ~7 | target
    assert after.size == len(result)
    assert crc_matches(result, 0, after)
    assert list(records(result)) == list(records(original))
    kept = before._replace(crc=after.crc, batch_length=after.batch_length)
    assert kept == after._replace(attributes=before.attributes)


def test_a_large_batch_is_read_again_from_pieces_of_lz4() -> None:
    values = [bytes(range(256)) * 4096] * 3
    result = repacked(batch(values), Codec.LZ4)
    assert [record.value for record in records(result)] == values


@pytest.mark.parametrize("at", [17, HEADER_SIZE, -1])
def test_a_batch_that_was_changed_on_its_way_is_refused(at: int) -> None:
    original = batch(VALUES, codec=Codec.GZIP)
    original[at] ^= 1
    with pytest.raises(KafkaError) as caught:
        repacked(original, Codec.ZSTD)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_that_unpacks_to_too_much_is_refused() -> None:
    bomb = batch([bytes(MAX_UNPACKED_BYTES + 1)], codec=Codec.ZSTD)
    assert len(bomb) < 100_000
    with pytest.raises(KafkaError) as caught:
        repacked(bomb, Codec.NONE)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
