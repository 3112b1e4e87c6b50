"""The quick walk over a batch against the plain one: the same records, and the same refusals. And
the heads of records against the whole ones.
"""

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import (
    HEADER_SIZE,
    Codec,
    Head,
    Record,
    assemble,
    checked_heads,
    heads_in,
    new_batch,
    payload_view,
    read_header,
    records,
    stamp_append_time,
)
from kafkaesque.records.compression import MAX_UNCOMPRESSED_BYTES
from kafkaesque.records.record import encode_records
from kafkaesque.records.walk import walk

SIZES = st.sampled_from([0, 1, 63, 64, 200, 8191, 8192, 20_000])
BLOBS = st.none() | st.binary(max_size=20) | SIZES.map(bytes)
TIMES = st.sampled_from([0, 63, 64, 8191, 8192, 10**6, 10**12]) | st.integers(0, 2**62)
HEADERS = st.just(()) | st.lists(
    st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=90)), max_size=3
).map(tuple)
BODIES = st.lists(st.tuples(TIMES, BLOBS, BLOBS, HEADERS), min_size=1, max_size=8)
FEW = st.lists(
    st.tuples(st.integers(0, 300), st.none() | st.binary(max_size=3), st.binary(max_size=3)),
    min_size=1,
    max_size=4,
)


def outcome(read: Any) -> list[Any] | ErrorCode:
    try:
        return list(read())
    except KafkaError as error:
        return error.code


def compare(data: bytes, position: int = 0) -> list[Record] | ErrorCode:
    """What both make of it."""
    expected = outcome(lambda: records(data, position))
    found = outcome(lambda: walk(data, position, read_header(data, position)))
    assert found == expected
    compare_heads(data, position, expected)
    return found


def compare_heads(data: bytes, position: int, expected: list[Record] | ErrorCode) -> None:
    """Those of whole records know no more than is refused; those that are checked, no less."""
    heads = [(r.offset, r.timestamp, r.key is not None) for r in whole(expected)]
    if not isinstance(expected, ErrorCode):
        assert outcome(lambda: seen(data, position, heads_in)) == heads
    found = outcome(lambda: seen(data, position, checked))
    assert found == (expected if isinstance(expected, ErrorCode) else heads)


def whole(found: list[Record] | ErrorCode) -> list[Record]:
    return [] if isinstance(found, ErrorCode) else found


def seen(
    data: bytes, position: int, heads: Callable[..., Iterator[Head]]
) -> Iterator[tuple[int, int, bool]]:
    header = read_header(data, position)
    view = memoryview(data)[position : position + header.size]
    payload = payload_view(view, header, MAX_UNCOMPRESSED_BYTES)
    return (head[:3] for head in heads(payload, header))


def checked(data: Any, header: Any) -> Iterator[Head]:
    return (head for head, _ in checked_heads(data, header) if head)


@given(BODIES, st.sampled_from(Codec), st.integers(0, 2**60), st.booleans())
def test_records_are_the_same(
    bodies: list[Any], codec: Codec, base_offset: int, append_time: bool
) -> None:
    written = [Record(base_offset + n, *body) for n, body in enumerate(bodies)]
    batch = new_batch(written, base_offset=base_offset, codec=codec)
    if append_time:
        stamp_append_time(batch, 0, 5)
        written = [record._replace(timestamp=5) for record in written]
    # What comes before and after belongs to other batches.
    assert compare(b"before" + bytes(batch) + bytes(batch), 6) == written


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=6))
def test_gaps_that_compaction_leaves_are_the_same(gaps: list[int]) -> None:
    at = [sum(gaps[:end]) for end in range(1, len(gaps) + 1)]
    kept = [Record(offset, 7, b"key", None) for offset in at]
    header = read_header(new_batch([Record(0, 0, None, None)]))
    header = header._replace(count=len(kept), last_offset_delta=at[-1] + 3)
    assert compare(bytes(assemble(header, encode_records(kept, 0, 0)))) == kept


def test_a_batch_that_compaction_has_emptied_has_no_records() -> None:
    header = read_header(new_batch([Record(0, 0, None, None)]))._replace(count=0)
    assert compare(bytes(assemble(header, b""))) == []


@given(FEW, st.data())
def test_damage_is_found_by_both_or_by_neither(bodies: list[Any], data: st.DataObject) -> None:
    batch = new_batch([Record(n, *body) for n, body in enumerate(bodies)])
    following = bytes(new_batch([Record(n, 0, b"k", b"v") for n in range(3)]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(HEADER_SIZE, len(batch) - 1))
        batch[at] = data.draw(st.integers(0, 255))
    damaged = compare(bytes(batch) + following)
    assert damaged is ErrorCode.CORRUPT_MESSAGE or isinstance(damaged, list)


@given(st.binary(max_size=40), st.integers(-1, 4), st.integers(0, 3))
@example(b"\x80" * 20, 1, 0)
@example(b"\x0e\x00\x00\x00\x01\x01\x00\x00", 1, 0)
def test_any_bytes_are_read_alike(payload: bytes, count: int, last_delta: int) -> None:
    header = read_header(new_batch([Record(0, 0, None, None)]))
    header = header._replace(count=count, last_offset_delta=last_delta)
    batch = bytes(assemble(header, payload))
    compare(batch)
    compare(batch + bytes(100))
    compare(batch[:-1] if payload else batch)
