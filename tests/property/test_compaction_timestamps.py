"""Compaction of records with any timestamps that 64 bits hold: no pass fails, and what it writes is
valid for others too.

Batches are put together here as Java does it: base timestamp and deltas are added and subtracted in
64 bits, round the corner if need be. What is left of them is read by aiokafka's parser as well.
"""

from dataclasses import dataclass

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as ForeignBatch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.crash.forgetting import ForgettingFiles
from tests.tiers import examples
from tests.unit.log.compacting import all_batches, all_records, compact_anywhere, rules, table
from tests.unit.log.logs import NOW, flush, new_disk, open_log

from kafkaesque.log.config import LogConfig
from kafkaesque.log.log import Log
from kafkaesque.log.memory import MemorySegments
from kafkaesque.records.batch import (
    MAGIC,
    BatchHeader,
    Codec,
    Record,
    assemble,
    crc_matches,
    read_header,
    records,
    stamp_append_time,
)
from kafkaesque.records.compression import compress
from kafkaesque.records.record import MAX_TIMESTAMP, MIN_TIMESTAMP
from kafkaesque.records.varint import encode_varint, encode_varlong

EDGES = (MIN_TIMESTAMP, MIN_TIMESTAMP + 1, MIN_TIMESTAMP + NOW, -(2**62), -2, -1, 0, 1, NOW, 2**62)

times = st.one_of(
    st.sampled_from([*EDGES, MAX_TIMESTAMP - 1, MAX_TIMESTAMP]),
    st.integers(MIN_TIMESTAMP, MAX_TIMESTAMP),
)
retentions = st.sampled_from([0, 1, 86_400_000, 2**62, MAX_TIMESTAMP - NOW, MAX_TIMESTAMP])


@dataclass
class NewBatch:
    base_timestamp: int
    records: list[tuple[bytes, bytes | None, int]]
    codec: Codec
    is_append_time: bool


batches = st.builds(
    NewBatch,
    times,
    st.lists(
        st.tuples(st.sampled_from([b"a", b"b", b"k" * 20]), st.sampled_from([None, b"v"]), times),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([Codec.NONE, Codec.GZIP]),
    st.sampled_from([False, False, False, True]),
)


def in_64_bits(number: int) -> int:
    return (number - MIN_TIMESTAMP) % 2**64 + MIN_TIMESTAMP


def encoded(new: NewBatch, base_offset: int) -> bytearray:
    payload = bytearray()
    for number, (key, value, time) in enumerate(new.records):
        body = bytearray(1)
        body += encode_varlong(in_64_bits(time - new.base_timestamp)) + encode_varint(number)
        body += encode_varint(len(key)) + key
        body += encode_varint(-1) if value is None else encode_varint(len(value)) + value
        body += encode_varint(0)
        payload += encode_varint(len(body)) + body
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=0,
        magic=MAGIC,
        crc=0,
        attributes=new.codec,
        last_offset_delta=len(new.records) - 1,
        base_timestamp=new.base_timestamp,
        max_timestamp=max(time for _, _, time in new.records),
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        count=len(new.records),
    )
    batch = assemble(header, compress(new.codec, payload))
    if new.is_append_time:
        stamp_append_time(batch, 0, header.max_timestamp)
    return batch


def fill(log: Log, wanted: list[NewBatch]) -> dict[int, Record]:
    """What was appended, by offset."""
    appended: dict[int, Record] = {}
    for new in wanted:
        batch = encoded(new, log.end_offset)
        log.append(batch, read_header(batch), NOW)
        appended |= {record.offset: record for record in records(batch)}
    log.roll()
    return appended


def foreign_records(batch: bytes) -> list[tuple[int, int, bytes, bytes | None]]:
    parsed = ForeignBatch(batch)
    assert parsed.validate_crc()
    return [(r.offset, in_64_bits(r.timestamp), r.key, r.value) for r in parsed]


def check(log: Log, appended: dict[int, Record]) -> None:
    left = all_records(log)
    assert all(record == appended[record.offset] for record in left)
    assert table(left) == table(list(appended.values()))
    for batch, header in all_batches(log):
        assert crc_matches(batch, 0, header)
        own = list(records(batch))
        if own:
            assert header.max_timestamp == max(record.timestamp for record in own)
            assert foreign_records(batch) == [(r.offset, r.timestamp, r.key, r.value) for r in own]


@pytest.mark.parametrize("store", ["disk", "memory"])
@given(
    wanted=st.lists(batches, min_size=1, max_size=8),
    more=st.lists(batches, max_size=3),
    retention_ms=retentions,
)
@settings(max_examples=examples(150))
def test_any_timestamp_and_any_retention_can_be_compacted(
    store: str, wanted: list[NewBatch], more: list[NewBatch], retention_ms: int
) -> None:
    config = LogConfig(
        segment_bytes=400, index_interval_bytes=100, delete_retention_ms=retention_ms
    )
    files = new_disk() if store == "disk" else None
    log = open_log(files, config) if files else Log.open(MemorySegments(), config)
    appended = fill(log, wanted)
    cleaned_to = compact(log, files, 0, NOW)
    check(log, appended)
    appended |= fill(log, more)
    compact(log, files, cleaned_to, NOW + 1)
    check(log, appended)
    if files is not None:
        flush(log)
        assert all_records(open_log(files.kill(), config)) == all_records(log)


def compact(log: Log, files: ForgettingFiles | None, first_dirty: int, now_ms: int) -> int:
    if files is not None:
        flush(log)
    result = compact_anywhere(log, files, rules(log, first_dirty=first_dirty, now_ms=now_ms))
    if result is None:
        return first_dirty
    assert result.figures.unreadable == 0
    return result.cleaned_to
