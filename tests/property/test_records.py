"""Record batches against random data, and against the builders and readers of two other clients."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import (
    HEADER_SIZE,
    Codec,
    Record,
    batches,
    crc_matches,
    new_batch,
    read_header,
    records,
)
from kafkaesque.records.compression import compress, decompress
from kafkaesque.records.murmur2 import murmur2
from kafkaesque.records.varint import decode_varint, decode_varlong, encode_varint, encode_varlong

with warnings.catch_warnings():
    # kafka-python loads its schemas through a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.codec
    from kafka.partitioner.default import murmur2 as kafka_python_murmur2
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TIMESTAMPS = st.integers(0, 2**62)
MAYBE_BYTES = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=20), MAYBE_BYTES), max_size=4).map(tuple)
CODECS = st.sampled_from(Codec)


@st.composite
def batch_contents(draw: st.DrawFn, base_offset: int = 0) -> list[Record]:
    bodies = st.tuples(TIMESTAMPS, MAYBE_BYTES, MAYBE_BYTES, HEADERS)
    drawn = draw(st.lists(bodies, min_size=1, max_size=20))
    return [Record(base_offset + i, *body) for i, body in enumerate(drawn)]


@given(INT32)
def test_varints_round_trip(value: int) -> None:
    encoded = encode_varint(value)
    assert decode_varint(encoded, 0) == (value, len(encoded))


@given(INT64)
def test_varlongs_round_trip(value: int) -> None:
    encoded = encode_varlong(value)
    assert decode_varlong(encoded, 0) == (value, len(encoded))


@given(st.binary(max_size=100))
def test_murmur2_equals_kafka_pythons(data: bytes) -> None:
    assert murmur2(data) & 0xFFFFFFFF == kafka_python_murmur2(data) & 0xFFFFFFFF


@settings(deadline=None)
@given(CODECS, st.binary(max_size=2000), st.integers(1, 100))
def test_codecs_round_trip(codec: Codec, data: bytes, times: int) -> None:
    assert decompress(codec, compress(codec, data * times)) == data * times


@settings(deadline=None)
@given(st.data(), CODECS, st.integers(0, 2**60))
def test_batches_round_trip(data: st.DataObject, codec: Codec, base_offset: int) -> None:
    written = data.draw(batch_contents(base_offset))
    batch = new_batch(written, base_offset=base_offset, codec=codec)
    header = read_header(batch)
    assert crc_matches(batch, 0, header)
    assert header.last_offset == written[-1].offset
    assert header.max_timestamp == max(record.timestamp for record in written)
    assert list(records(batch)) == written


@settings(deadline=None)
@given(CODECS, st.binary(max_size=200), st.integers(-2, 5))
def test_random_bytes_are_records_or_corrupt(codec: Codec, payload: bytes, count: int) -> None:
    batch = new_batch([Record(0, 0, None, None)], codec=codec)[:HEADER_SIZE] + payload
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    with corrupt_at_most():
        list(records(batch))


@settings(deadline=None)
@given(st.data(), CODECS)
def test_changed_bytes_give_records_or_corrupt(data: st.DataObject, codec: Codec) -> None:
    batch = new_batch(data.draw(batch_contents()), codec=codec)
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    with corrupt_at_most():
        for position, header in batches(batch):
            crc_matches(batch, position, header)
            list(records(batch, position))


def kafka_python_has(codec: Codec) -> bool:
    return codec is Codec.NONE or bool(getattr(kafka.codec, f"has_{codec.name.lower()}")())


FOREIGN = [
    pytest.param(codec, builder, reader, id=f"{name}-{codec.name.lower()}")
    for name, builder, reader in (
        ("kafka-python", KafkaPythonBuilder, KafkaPythonBatch),
        ("aiokafka", AiokafkaBuilder, AiokafkaBatch),
    )
    for codec in Codec
    if name == "aiokafka" or kafka_python_has(codec)
]


@pytest.mark.parametrize(("codec", "builder", "reader"), FOREIGN)
@settings(deadline=None, max_examples=examples(50))
@given(written=batch_contents(), producer=st.tuples(INT64, st.integers(0, 2**15 - 1), INT32))
def test_we_read_what_another_client_built(
    codec: Codec, builder: Any, reader: Any, written: list[Record], producer: tuple[int, int, int]
) -> None:
    # Other builders drop a codec that does not pay: this record makes every one of them pay.
    written = [*written, Record(len(written), 0, None, b"again and " * 2000)]
    foreign = builder(2, codec, True, *producer, 1 << 30)
    for record in written:
        foreign.append(
            record.offset, record.timestamp, record.key, record.value, list(record.headers)
        )
    batch = bytes(foreign.build())
    header = read_header(batch)
    assert crc_matches(batch, 0, header)
    assert header.size == len(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == producer
    assert header.is_transactional
    assert header.codec is codec
    assert (header.count, header.last_offset_delta) == (len(written), len(written) - 1)
    assert list(records(batch)) == written


@pytest.mark.parametrize(("codec", "builder", "reader"), FOREIGN)
@settings(deadline=None, max_examples=examples(50))
@given(written=batch_contents(base_offset=70))
def test_another_client_reads_what_we_built(
    codec: Codec, builder: Any, reader: Any, written: list[Record]
) -> None:
    foreign = reader(bytes(new_batch(written, base_offset=70, codec=codec, producer_id=8)))
    assert foreign.validate_crc()
    assert (foreign.base_offset, foreign.next_offset, foreign.producer_id) == (
        70,
        written[-1].offset + 1,
        8,
    )
    read = [Record(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in foreign]
    assert read == written


@contextlib.contextmanager
def corrupt_at_most() -> Iterator[None]:
    try:
        yield
    except KafkaError as error:
        if error.code is not ErrorCode.CORRUPT_MESSAGE:
            raise
