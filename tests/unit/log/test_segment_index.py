"""Index entries by Kafka's rules, in memory and in the bytes of its files."""

import struct

import pytest
from tests.crash.forgetting import ForgettingFiles

from kafkaesque.log.index import OffsetIndexFile, SegmentIndex, TimeIndexFile

BASE = 1000


def index_of(batches: list[tuple[int, int, int]], interval: int = 100) -> SegmentIndex:
    """From (last offset, timestamp, size) of batches in a row."""
    index, position = SegmentIndex(BASE, interval), 0
    for last_offset, timestamp, size in batches:
        index.add(last_offset, timestamp, position, size)
        position += size
    return index


REGULAR = [(BASE + 10 * i + 9, 5000 + i, 60) for i in range(10)]


def test_a_batch_gets_an_entry_when_more_than_the_interval_lies_behind_the_last_one() -> None:
    index = index_of(REGULAR)
    assert list(index.positions) == [120, 240, 360, 480]
    assert list(index.offsets) == [29, 49, 69, 89]


def test_exactly_the_interval_is_not_more() -> None:
    index = index_of([(BASE + i, 1, 50) for i in range(5)])
    assert list(index.positions) == [150]


def test_the_time_index_notes_the_largest_timestamp_so_far_and_its_batch() -> None:
    timestamps = [70, 90, 80, 60, 50, 95, 10]
    index = index_of([(BASE + i, t, 60) for i, t in enumerate(timestamps)])
    assert list(zip(index.timestamps, index.timestamp_offsets, strict=True)) == [(90, 1), (95, 5)]


def test_the_bytes_are_kafkas() -> None:
    index = index_of(REGULAR)
    entries = [(29, 120), (49, 240), (69, 360), (89, 480)]
    assert index.offset_bytes() == b"".join(struct.pack(">ii", *entry) for entry in entries)
    assert index.offset_bytes(3) == struct.pack(">ii", 89, 480)
    times = [(5002, 29), (5004, 49), (5006, 69), (5008, 89)]
    assert index.time_bytes() == b"".join(struct.pack(">qi", *entry) for entry in times)
    index.note_max_timestamp()
    assert index.time_bytes(4) == struct.pack(">qi", 5009, 99)
    index.note_max_timestamp()
    assert len(index.timestamps) == 5


@pytest.mark.parametrize(
    ("offset", "position"),
    [(BASE, 0), (BASE + 28, 0), (BASE + 29, 120), (BASE + 48, 120), (BASE + 49, 240), (9999, 480)],
)
def test_floor_is_the_last_entry_at_or_below_an_offset(offset: int, position: int) -> None:
    index = index_of(REGULAR)
    assert index.floor(offset) == position
    assert _files_of(index)[0].floor(offset) == position


@pytest.mark.parametrize(
    ("before", "limit", "position"),
    [(119, 9999, 0), (120, 9999, 120), (599, 9999, 480), (599, BASE + 49, 120), (599, BASE, 0)],
)
def test_last_before_keeps_below_a_position_and_an_offset(
    before: int, limit: int, position: int
) -> None:
    index = index_of(REGULAR)
    assert index.last_before(before, limit) == position
    assert _files_of(index)[0].last_before(before, limit) == position


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(0, BASE), (5002, BASE), (5003, BASE + 30), (5008, BASE + 70), (9999, BASE + 90)],
)
def test_older_than_passes_over_what_is_certainly_older(timestamp: int, offset: int) -> None:
    index = index_of(REGULAR)
    assert index.older_than(timestamp) == offset
    assert _files_of(index)[1].older_than(timestamp) == offset


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(BASE + 29, (-1, BASE)), (BASE + 30, (5002, BASE + 30)), (9999, (5008, BASE + 90))],
)
def test_latest_before_knows_only_what_lies_below(offset: int, expected: tuple[int, int]) -> None:
    index = index_of(REGULAR)
    assert index.latest_before(offset) == expected
    assert _files_of(index)[1].latest_before(offset) == expected


def _files_of(index: SegmentIndex) -> tuple[OffsetIndexFile, TimeIndexFile]:
    files = ForgettingFiles()
    offsets, times = files.open("/a", create=True), files.open("/b", create=True)
    offsets.pwrite(index.offset_bytes(), 0)
    times.pwrite(index.time_bytes(), 0)
    return OffsetIndexFile(offsets, BASE, True), TimeIndexFile(times, BASE)


@pytest.mark.parametrize("cut", [BASE, BASE + 30, BASE + 45, BASE + 50, BASE + 99, BASE + 100])
def test_an_index_that_was_cut_and_continued_equals_one_never_cut(cut: int) -> None:
    index = index_of(REGULAR)
    index.note_max_timestamp()
    position = index.cut(cut)
    for number, (last_offset, timestamp, size) in enumerate(REGULAR):
        if number * 60 >= position:
            index.add(last_offset, timestamp, number * 60, size)
    whole = index_of(REGULAR)
    assert index.offset_bytes() == whole.offset_bytes()
    assert index.time_bytes() == whole.time_bytes()
    assert index.max_timestamp == whole.max_timestamp


def test_a_loaded_index_goes_on_where_it_stopped() -> None:
    index = index_of(REGULAR)
    loaded = SegmentIndex.load(BASE, 100, index.offset_bytes(), index.time_bytes(), 600)
    assert loaded is not None
    assert loaded.last_position == 480
    more = [(BASE + 109, 6000, 60), (BASE + 119, 6001, 60)]
    for number, (last_offset, timestamp, size) in enumerate([*REGULAR[8:], *more]):
        loaded.add(last_offset, timestamp, 480 + number * 60, size)
    assert loaded.offset_bytes() == index_of([*REGULAR, *more]).offset_bytes()
    assert loaded.time_bytes() == index_of([*REGULAR, *more]).time_bytes()


@pytest.mark.parametrize("damage", ["short", "zeroed", "beyond", "backwards", "negative", "times"])
def test_an_index_that_makes_no_sense_is_not_loaded(damage: str) -> None:
    index = index_of(REGULAR)
    offsets, times, log_size = index.offset_bytes(), index.time_bytes(), 600
    if damage == "short":
        offsets = offsets[:-1]
    elif damage == "zeroed":
        offsets = bytes(len(offsets))
    elif damage == "beyond":
        log_size = 480
    elif damage == "backwards":
        offsets = offsets[8:] + offsets[:8]
    elif damage == "negative":
        offsets = struct.pack(">ii", -5, 120) + offsets[8:]
    else:
        times = bytes(len(times))
    assert SegmentIndex.load(BASE, 100, offsets, times, log_size) is None


def test_full_is_where_no_entry_fits_and_the_last_time_entry_is_reserved() -> None:
    index = index_of(REGULAR)
    assert len(index.offsets) == len(index.timestamps) == 4
    assert index.is_full(32)
    assert index.is_full(60), "room for 5 time entries, and the fifth is the one of sealing"
    assert not index.is_full(72)
