"""Record batches as columns against `Fetched.records()`: the same records, the same refusals.

Both by numpy and by the compiled loop.
"""

from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from kafkaesque.client.columns import columns_of
from kafkaesque.client.columns.headers import readable
from kafkaesque.client.columns.record_loop import walk
from kafkaesque.client.columns.records import SCHEMA
from kafkaesque.client.fetched import Fetched
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import (
    HEADER_SIZE,
    Codec,
    Record,
    assemble,
    batches,
    new_batch,
    read_header,
    stamp_append_time,
)
from kafkaesque.records.control import Marker, new_marker
from kafkaesque.records.record import encode_records
from kafkaesque.types import TopicPartition

PLACE = TopicPartition("orders", 0)
BLOBS = st.none() | st.binary(max_size=20) | st.sampled_from((63, 64, 8191, 8192)).map(bytes)
HEADERS = st.just(()) | st.lists(
    st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=90)), max_size=3
).map(tuple)
TIMES = st.integers(0, 300) | st.integers(0, 2**62)
BODIES = st.lists(st.tuples(TIMES, BLOBS, BLOBS, HEADERS), min_size=1, max_size=8)
ALIKE = st.tuples(st.just(5), BLOBS, BLOBS, HEADERS).map(lambda body: [body] * 70)


def fetched(data: bytes, offset: int, aborted: tuple[tuple[int, int], ...] = ()) -> Fetched:
    return Fetched(PLACE, offset, 0, data, 0, 0, aborted, batches=list(batches(data)))


def outcome(found: Fetched) -> list[Any] | ErrorCode:
    try:
        return [(*record[:4], readable(record.headers)) for record in found.records()]
    except KafkaError as error:
        return error.code


def columns(found: Fetched) -> list[Any] | ErrorCode:
    plain, compiled = (rows(found, loop) for loop in (None, walk))
    assert plain == compiled
    return plain


def rows(found: Fetched, loop: Any) -> list[Any] | ErrorCode:
    try:
        table = columns_of(found, loop)
    except KafkaError as error:
        return error.code
    table.validate(full=True)
    assert table.schema == SCHEMA
    return [tuple(row.values()) for row in table.to_pylist()]


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    data = bytearray()
    offset = draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(1, 4))):
        producer = draw(st.sampled_from((-1, 7, 8)))
        if draw(st.integers(0, 3)) == 0:
            kind = draw(st.sampled_from((Marker.ABORT, Marker.COMMIT)))
            data += new_marker(offset, 7, 0, kind, 1000)
            offset += 1
            continue
        bodies = draw(BODIES | ALIKE)
        written = [Record(offset + n, *body) for n, body in enumerate(bodies)]
        batch = new_batch(
            written,
            base_offset=offset,
            codec=draw(st.sampled_from(Codec)),
            producer_id=producer,
            transactional=producer >= 0,
        )
        if draw(st.booleans()):
            stamp_append_time(batch, 0, 5)
        data += batch
        offset += len(written) + draw(st.integers(0, 2))
    return bytes(data)


@given(logs(), st.integers(0, 60), st.booleans())
def test_columns_hold_the_records_that_were_fetched(data: bytes, after: int, some: bool) -> None:
    first = read_header(data).base_offset
    found = fetched(data, first + after, ((7, first),) if some else ())
    assert columns(found) == outcome(found)


@given(
    st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=3)), min_size=1, max_size=30)
    | st.integers(33, 90).map(lambda count: [(0, b"abc")] * count),
    st.integers(0, 400),
    st.binary(min_size=1, max_size=6),
    st.integers(-2, 2),
)
@example([(0, b"")], 0, b"\xff\xff\xff\xff\xff", 0)
@example([(0, b"")], 3, b"\x80\x80\x80\x80\x80\x00", 0)
def test_damaged_batches_are_refused_alike(
    bodies: list[tuple[int, bytes]], at: int, noise: bytes, fewer: int
) -> None:
    written = [Record(n, time, None, value) for n, (time, value) in enumerate(bodies)]
    data = encode_records(written, 0, 0)
    at %= len(data)
    data[at : at + len(noise)] = noise
    header = read_header(new_batch(written))
    damaged = assemble(header._replace(count=max(0, len(written) - fewer)), data)
    found = fetched(bytes(damaged), 0)
    assert columns(found) == outcome(found)


def test_a_batch_without_records_has_no_rows() -> None:
    batch = new_batch([Record(0, 0, None, b"gone")])
    emptied = assemble(read_header(batch)._replace(count=0), b"")
    assert len(emptied) == HEADER_SIZE
    assert columns(fetched(bytes(emptied), 0)) == []
    assert columns(fetched(b"", 0)) == []


def test_a_header_of_odd_bytes_and_one_of_many_are_told_as_well() -> None:
    many = tuple((f"h{n}", b"%d" % n) for n in range(100))
    written = [Record(0, 0, None, None, (("caf\udce9", b"x"),)), Record(1, 0, b"", b"", many)]
    found = columns_of(fetched(bytes(new_batch(written)), 0))
    assert found.column("headers")[0].as_py() == [{"name": "caf�", "value": b"x"}]
    assert len(found.column("headers")[1]) == 100
    assert found.column("value").to_pylist() == [None, b""]
    assert pa.types.is_binary(found.column("key").type)


def test_more_records_than_one_part_holds() -> None:
    data = bytearray()
    for first in range(0, 40_000, 1000):
        part = [Record(n, n, b"%d" % n, None) for n in range(first, first + 1000)]
        data += new_batch(part, base_offset=first)
    found = fetched(bytes(data), 17_500)
    assert columns(found) == outcome(found)
