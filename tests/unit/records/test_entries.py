"""Keys and values alone, as a replay reads them: the same as `records` gives, whatever is there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, Codec, Record, batches, new_batch, records
from kafkaesque.records.entries import Shelf, entries, gather, runs

OFFSET_DELTA_AT = HEADER_SIZE + 3
SIZES = st.sampled_from([0, 1, 24, 31, 55, 59, 60, 61, 62, 63, 64, 65, 66, 127, 128, 200, 8100])
LARGE = st.sampled_from([8180, 8181, 8182, 8190, 8191, 8192, 9000, 20_000])
VALUES = st.none() | (SIZES | LARGE).map(lambda size: b"v" * size)
KEYS = st.builds(
    lambda size, number: b"k" * size + number.to_bytes(4, "big", signed=True),
    SIZES | LARGE,
    st.sampled_from([0, 1, 255, 2**31 - 1, -1]),
)
TIMESTAMPS = st.just(0) | st.integers(-(2**40), 2**40)
HEADERS = st.just(()) | st.sampled_from([(("h", b"x"),), (("null", None), ("", b""))])
KINDS: list[dict[str, Any]] = [
    {},
    {"codec": Codec.GZIP},
    {"transactional": True, "producer_id": 7, "producer_epoch": 1},
    {"control": True, "producer_id": 7, "producer_epoch": 1},
]


def bodies(keys: st.SearchStrategy[bytes | None]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.tuples(TIMESTAMPS, keys, VALUES, HEADERS), min_size=1, max_size=6)


def batch(base_offset: int, *bodies: tuple[Any, ...], **kind: Any) -> bytes:
    made = [Record(base_offset + i, *body) for i, body in enumerate(bodies)]
    return bytes(new_batch(made, base_offset=base_offset, **kind))


def plain(base_offset: int, *bodies: tuple[bytes | None, bytes | None]) -> bytes:
    return batch(base_offset, *((0, key, value) for key, value in bodies))


def gathered(data: bytes) -> dict[bytes, bytes]:
    """By whole keys."""
    shelves: dict[bytes, Shelf] = {}

    def shelf_for(key: bytes, value: bytes | None) -> Shelf:
        return shelves.setdefault(key[:-4], {})

    for run in runs(data):
        gather(data, run, shelves, shelf_for)
    return {
        head + number.to_bytes(4, "big", signed=True): value
        for head, shelf in shelves.items()
        for number, value in shelf.items()
    }


def read(data: bytes) -> list[tuple[bytes, bytes | None]]:
    return [
        (record.key or b"", record.value)
        for position, _ in batches(data)
        for record in records(data, position)
    ]


def last_values(data: bytes) -> dict[bytes, bytes]:
    latest = dict(read(data))
    return {key: value for key, value in latest.items() if value is not None}


@given(st.lists(st.tuples(bodies(st.none() | KEYS), st.sampled_from(KINDS)), max_size=8))
def test_entries_are_the_keys_and_values_of_the_records(
    drawn: list[tuple[list[Any], dict[str, Any]]],
) -> None:
    data = b"".join(batch(100 * i, *each, **kind) for i, (each, kind) in enumerate(drawn))
    assert [entry for run in runs(data) for entry in entries(data, run)] == read(data)


@given(st.lists(bodies(KEYS), max_size=8))
def test_gathered_are_the_last_values_of_all_keys(drawn: list[list[Any]]) -> None:
    data = b"".join(batch(100 * i, *each) for i, each in enumerate(drawn))
    assert gathered(data) == last_values(data)


@pytest.mark.parametrize("size", [*range(130), *range(8160, 8200)])
def test_every_length_of_key_and_value_is_gathered(size: int) -> None:
    other = b"o" * 20 + bytes(4)
    data = plain(
        0, (b"k" * size + b"1234", b"v"), (other, b"v" * size), (other, None), (other, b"")
    )
    assert gathered(data) == {b"k" * size + b"1234": b"v", other: b""}


def test_offsets_in_a_batch_have_one_byte_or_two_or_three() -> None:
    keys = [b"key of " + number.to_bytes(4, "big") for number in range(9000)]
    data = plain(0, *((key, b"v") for key in keys))
    assert list(gathered(data)) == keys


def test_who_asks_for_a_shelf_is_told_the_key_and_the_value() -> None:
    asked: list[tuple[bytes, bytes | None]] = []
    data = plain(0, (b"abc12345", b"v"), (b"abc", b"short"), (None, b"null"), (b"gone1234", None))

    def shelf_for(key: bytes, value: bytes | None) -> Shelf:
        asked.append((key, value))
        return {}

    for run in runs(data):
        gather(data, run, {}, shelf_for)
    assert asked == [(b"abc12345", b"v"), (b"abc", b"short"), (b"", b"null"), (b"gone1234", None)]


def test_plain_batches_that_follow_each_other_are_one_run() -> None:
    rest = [plain(offset, (b"k", b"v")) for offset in range(3)]
    transactional = batch(3, (0, b"k", b"v"), **KINDS[2])
    data = b"".join([*rest, transactional, plain(4, (b"k", None), (b"k", b"v"))])
    found = list(runs(data))
    assert [(run.header.base_offset, run.next_offset) for run in found] == [(0, 3), (3, 4), (4, 6)]
    assert [run.is_plain for run in found] == [True, False, True]
    assert data[found[1].position : found[1].end] == transactional


def test_a_batch_that_the_cleaner_has_emptied_has_nothing() -> None:
    emptied = bytearray(plain(0, (b"k", b"v"))[:HEADER_SIZE])
    emptied[8:12] = (HEADER_SIZE - 12).to_bytes(4, "big")
    emptied[57:61] = bytes(4)
    data = bytes(emptied) + plain(1, (b"12345", b"v"))
    assert gathered(data) == {b"12345": b"v"}
    assert [entry for run in runs(data) for entry in entries(data, run)] == [(b"12345", b"v")]


@pytest.mark.parametrize("wrong", [0x00, 0x01, 0x02, 0x7E, 0x7F, 0x80, 0xFE, 0xFF])
@pytest.mark.parametrize("at", [*range(17)])
def test_a_wrong_byte_gives_the_same_values_or_the_same_error(at: int, wrong: int) -> None:
    data = bytearray(plain(0, (b"k-1234", b"value")))
    assert len(data) == HEADER_SIZE + 18
    data[HEADER_SIZE + at] = wrong
    if HEADER_SIZE + at != OFFSET_DELTA_AT:
        assert outcome(gathered, bytes(data)) == outcome(last_values, bytes(data))


def test_a_batch_of_a_senseless_length_is_refused() -> None:
    for length in (-12, 0, 48, 60, 1000):
        second = bytearray(plain(1, (b"12345", b"v")))
        second[8:12] = length.to_bytes(4, "big", signed=True)
        data = plain(0, (b"12345", b"v")) + bytes(second)
        assert outcome(gathered, data) is ErrorCode.CORRUPT_MESSAGE


def outcome(read: Any, data: bytes) -> Any:
    try:
        return read(data)
    except KafkaError as error:
        return error.code
