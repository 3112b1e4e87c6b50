"""What a pass of compaction keeps, drops and writes, on a disk and in memory."""

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.compacting import (
    DAY_MS,
    all_batches,
    all_records,
    compact_anywhere,
    compact_disk,
    keyed,
    known,
    pairs,
    rules,
)
from tests.unit.log.logs import NOW, flush, new_disk, open_log, path_of

from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.memory import MemorySegments
from kafkaesque.records.batch import (
    Codec,
    Record,
    assemble,
    new_batch,
    read_header,
    records,
    stamp_append_time,
)
from kafkaesque.records.control import Marker, new_marker
from kafkaesque.records.varint import encode_varint
from kafkaesque.types import AbortedTransaction, Buffer

CONFIG = LogConfig(segment_bytes=1000, index_interval_bytes=100)
PRODUCER = 7


class Place:
    """A log to be compacted, on either store."""

    def __init__(self, log: Log, files: ForgettingFiles | None) -> None:
        self.log = log
        self.files = files

    def compact(self, **given: object) -> int:
        """Seal everything, and compact it; how far that came."""
        self.log.roll()
        if self.files is not None:
            flush(self.log)
        result = compact_anywhere(self.log, self.files, rules(self.log, **given))  # type: ignore[arg-type]
        return result.cleaned_to if result is not None else -1

    def append(self, batch: Buffer) -> None:
        self.log.append(batch, read_header(batch), NOW)

    def end(self, marker: Marker, epoch: int = 0, at: int = NOW) -> int:
        offset = self.log.end_offset
        self.append(new_marker(offset, PRODUCER, epoch, marker, at))
        return offset

    def headers(self) -> list[tuple[int, int]]:
        """Base offset and number of records of each batch that is left."""
        return [(header.base_offset, header.count) for _, header in all_batches(self.log)]


@pytest.fixture(params=["disk", "memory"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "memory":
        return Place(Log.open(MemorySegments(), CONFIG), None)
    files = new_disk()
    return Place(open_log(files, CONFIG), files)


def in_transaction(place: Place, *wanted: tuple[str, str | None], sequence: int = 0) -> int:
    return keyed(
        place.log,
        *wanted,
        producer_id=PRODUCER,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def test_of_each_key_the_last_record_stays_at_its_offset(place: Place) -> None:
    keyed(place.log, ("a", "1"), ("b", "1"), ("a", "2"))
    keyed(place.log, ("c", "1"), ("b", "2"))
    assert place.compact() == 5
    assert pairs(place.log) == [(2, "a", "2"), (3, "c", "1"), (4, "b", "2")]
    assert place.log.end_offset == 5


def test_what_was_compacted_before_loses_what_was_written_since(place: Place) -> None:
    keyed(place.log, ("a", "1"), ("b", "1"), ("long" * 9, "1"), ("long" * 10, "1"))
    cleaned_to = place.compact()
    keyed(place.log, ("a", "2"), ("long" * 9, "2"))
    place.compact(first_dirty=cleaned_to)
    assert [offset for offset, _, _ in pairs(place.log)] == [1, 3, 4, 5]


def test_a_record_without_a_key_goes(place: Place) -> None:
    place.append(new_batch([Record(0, NOW, None, b"lost"), Record(1, NOW, b"k", b"v")]))
    place.compact()
    assert pairs(place.log) == [(1, "k", "v")]


def test_a_batch_that_loses_nothing_is_kept_byte_for_byte(place: Place) -> None:
    batch = bytes(new_batch([Record(0, NOW, b"k", b"v", (("h", b"x"),))], codec=Codec.GZIP))
    place.append(batch)
    keyed(place.log, ("a", "1"), ("a", "2"))
    place.compact()
    assert next(all_batches(place.log))[0] == batch


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_keeps_its_codec_offsets_sequence_and_times(place: Place, codec: Codec) -> None:
    batch_records = [
        Record(i, NOW + 1000 * i, b"ab"[i % 2 : i % 2 + 1], bytes(99), (("h", None),))
        for i in range(5)
    ]
    place.append(
        new_batch(
            batch_records, codec=codec, producer_id=PRODUCER, producer_epoch=3, base_sequence=40
        )
    )
    place.compact()
    [(batch, header)] = all_batches(place.log)
    assert list(records(batch)) == batch_records[3:]
    assert (header.codec, header.count) == (codec, 2)
    assert (header.base_offset, header.last_offset) == (0, 4)
    assert (header.base_sequence, header.last_sequence, header.producer_epoch) == (40, 44, 3)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, NOW + 4000)


def test_a_tombstone_goes_only_delete_retention_ms_after_it_was_first_compacted(
    place: Place,
) -> None:
    keyed(place.log, ("a", "1"), ("b", "1"), ("a", None), at=NOW - 5 * DAY_MS)
    before = all_records(place.log)
    place.compact()
    assert all_records(place.log) == before[1:]
    [(_, header)] = all_batches(place.log)
    assert header.has_delete_horizon
    assert header.base_timestamp == NOW + DAY_MS
    assert header.max_timestamp == before[2].timestamp
    place.compact(now_ms=NOW + DAY_MS - 1)
    assert all_records(place.log) == before[1:]
    place.compact(now_ms=NOW + DAY_MS)
    assert pairs(place.log) == [(1, "b", "1")]


def test_a_delete_horizon_leaves_the_brokers_own_timestamps_alone(place: Place) -> None:
    batch = new_batch([Record(0, 5, b"a", b"1"), Record(1, 9, b"a", None)])
    stamp_append_time(batch, 0, NOW - 7)
    place.append(batch)
    place.compact()
    assert [(r.offset, r.timestamp) for r in all_records(place.log)] == [(1, NOW - 7)]


def test_aborted_records_go_and_do_not_supersede_others(place: Place) -> None:
    keyed(place.log, ("a", "good"))
    first = in_transaction(place, ("a", "bad"), ("b", "bad"))
    marker = place.end(Marker.ABORT)
    place.compact(aborted=[AbortedTransaction(PRODUCER, first, marker)])
    assert pairs(place.log) == [(0, "a", "good")]


def test_committed_records_supersede_others(place: Place) -> None:
    keyed(place.log, ("a", "old"))
    in_transaction(place, ("a", "new"))
    place.end(Marker.COMMIT)
    place.compact(aborted=[AbortedTransaction(PRODUCER, 50, 60)])
    assert pairs(place.log) == [(1, "a", "new")]


@pytest.mark.parametrize("ending", list(Marker))
def test_a_marker_goes_when_nothing_of_its_transaction_is_left_and_its_horizon_has_passed(
    place: Place, ending: Marker
) -> None:
    in_transaction(place, ("a", "1"))
    marker = place.end(ending)
    last = keyed(place.log, ("a", "2"))
    aborted = [AbortedTransaction(PRODUCER, 0, marker)] if ending is Marker.ABORT else []

    place.compact(aborted=aborted)
    assert place.headers() == [(marker, 1), (last, 1)], "its records were still there"
    place.compact(aborted=aborted)
    (_, header), _ = all_batches(place.log)
    assert header.has_delete_horizon
    assert header.base_timestamp == NOW + DAY_MS
    assert header.max_timestamp == NOW
    place.compact(aborted=aborted, now_ms=NOW + DAY_MS - 1)
    assert place.headers() == [(marker, 1), (last, 1)]
    place.compact(aborted=aborted, now_ms=NOW + DAY_MS)
    assert place.headers() == [(last, 1)]


def test_markers_of_aborted_transactions_that_are_gone_are_named() -> None:
    files = new_disk()
    log = open_log(files, replace(CONFIG, delete_retention_ms=0))
    place = Place(log, files)
    place.end(Marker.COMMIT)
    marker = place.end(Marker.ABORT)
    keyed(log, ("a", "2"))
    log.roll()
    flush(log)
    first = compact_disk(log, files, rules(log))
    second = compact_disk(log, files, rules(log))
    assert first is not None
    assert second is not None
    assert (first.ended_aborts, second.ended_aborts) == ((), (marker,))


def test_a_marker_stays_while_its_producers_epoch_is_known_from_it(place: Place) -> None:
    marker = place.end(Marker.COMMIT, epoch=4)
    last = keyed(place.log, ("a", "2"))
    for now_ms in (NOW, NOW + DAY_MS, NOW + 2 * DAY_MS):
        place.compact(producers=known(PRODUCER, epoch=4), now_ms=now_ms)
    assert place.headers() == [(marker, 1), (last, 1)]
    place.compact(producers=known(PRODUCER, epoch=5))
    place.compact(producers=known(PRODUCER, epoch=5), now_ms=NOW + DAY_MS)
    assert place.headers() == [(last, 1)]


def test_a_control_batch_that_ends_nothing_stays(place: Place) -> None:
    unknown = new_batch([Record(0, NOW, b"\0\0\0\5", b"")], control=True)
    place.append(unknown)
    last = keyed(place.log, ("a", "2"))
    for _ in range(3):
        place.compact(now_ms=NOW + 9 * DAY_MS)
    assert place.headers() == [(0, 1), (last, 1)]


def test_the_header_of_a_producers_last_batch_stays_while_the_producer_is_known(
    place: Place,
) -> None:
    keyed(place.log, ("a", "1"), producer_id=PRODUCER, producer_epoch=2, base_sequence=30)
    keyed(
        place.log, ("a", "2"), ("a", "3"), producer_id=PRODUCER, producer_epoch=2, base_sequence=31
    )
    keyed(place.log, ("a", "4"))
    place.compact(producers=known(PRODUCER, last_offset=2))
    assert place.headers() == [(1, 0), (3, 1)]
    (batch, header), _ = all_batches(place.log)
    assert (header.producer_id, header.producer_epoch, header.last_sequence) == (PRODUCER, 2, 32)
    assert header.max_timestamp == NOW + 1
    assert list(records(batch)) == []
    place.compact(producers=known(PRODUCER, last_offset=2))
    assert place.headers() == [(1, 0), (3, 1)]
    place.compact()
    assert place.headers() == [(3, 1)]


def test_the_last_batch_of_a_segment_stays_as_a_header_that_says_where_it_ends(
    place: Place,
) -> None:
    keyed(place.log, ("a", "1"))
    place.log.roll()
    keyed(place.log, ("a", "2"), ("a", "3"))
    place.compact(producers=known(PRODUCER, last_offset=9))
    keyed(place.log, ("a", "4"))
    assert place.log.offset_of_max_timestamp(4) == (2, NOW + 1)
    place.compact()
    assert place.headers() == [(3, 1)]
    keyed(place.log, ("b", "1"))
    place.log.roll()
    keyed(place.log, ("b", "2"))
    place.compact(first_dirty=4)
    assert place.headers() == [(3, 1), (5, 1)]


def test_a_batch_that_cannot_be_read_is_left_alone(place: Place) -> None:
    torn = new_batch([Record(0, NOW, b"a", b"1"), Record(1, NOW, b"a", b"2")])
    torn[70] ^= 1
    nonsense = bytearray(new_batch([Record(2, NOW, b"a", b"3")], base_offset=2))
    nonsense[61] = 0x20  # a record longer than its batch
    stamp_append_time(nonsense, 0, NOW)
    for batch in (torn, nonsense):
        place.append(batch)
    keyed(place.log, ("a", "4"))
    place.compact()
    assert [batch for batch, _ in all_batches(place.log)][:2] == [torn, nonsense]


def test_a_pass_ends_before_the_segment_that_its_memory_has_no_room_for(place: Place) -> None:
    for segment in range(3):
        for number in range(4):
            keyed(place.log, (f"{segment}-{number}", "1"), (f"{segment}-{number}", "2"))
        place.log.roll()
    assert place.compact(max_keys=6) == 8
    assert [offset for offset, _, _ in pairs(place.log)] == [1, 3, 5, 7, *range(8, 24)]
    assert place.compact(max_keys=6, first_dirty=8) == 16
    assert place.compact(max_keys=6, first_dirty=16) == 24
    assert [offset for offset, _, _ in pairs(place.log)] == list(range(1, 24, 2))


def test_a_segment_with_more_keys_than_memory_is_compacted_in_parts(place: Place) -> None:
    for number in range(9):
        keyed(place.log, (f"{number}", "1"), (f"{number}", "2"))
    first = place.compact(max_keys=4)
    assert first == 8
    assert [offset for offset, _, _ in pairs(place.log)] == [1, 3, 5, 7, *range(8, 18)]
    assert place.compact(max_keys=4, first_dirty=8) == 16
    assert place.compact(max_keys=4, first_dirty=16) == 18
    assert [offset for offset, _, _ in pairs(place.log)] == list(range(1, 18, 2))


def test_small_neighbours_become_one_segment_and_none_is_larger_than_segment_bytes(
    place: Place,
) -> None:
    for number in range(200):
        keyed(place.log, (f"{number % 70 if number % 3 else 'one'}", "x" * 90))
    before = len(place.log.sealed)
    place.compact()
    sizes = [segment.size for segment in place.log.sealed]
    assert len(sizes) < before / 2
    assert max(sizes) <= CONFIG.segment_bytes
    assert all(first + second > CONFIG.segment_bytes for first, second in pairwise(sizes))


def test_a_segment_does_not_outgrow_its_indexes() -> None:
    files = new_disk()
    log = open_log(files, replace(CONFIG, segment_index_bytes=48))
    for number in range(60):
        keyed(log, (f"{number}", "x" * 60), at=NOW + number)
    log.roll()
    flush(log)
    for _ in range(2):
        compact_disk(log, files, rules(log))
    for segment in log.sealed:
        assert files.size(path_of(segment.base_offset, ".index")) <= 48
        assert files.size(path_of(segment.base_offset, ".timeindex")) <= 48


def test_a_pass_that_changes_nothing_leaves_nothing() -> None:
    files = new_disk()
    log = open_log(files, CONFIG)
    for number in range(30):
        keyed(log, (f"{number}", "x" * 200))
    log.roll()
    flush(log)
    names = sorted(files.names("/data/orders-0"))
    result = compact_disk(log, files, rules(log))
    assert result is not None
    assert result.segments == ()
    assert sorted(files.names("/data/orders-0")) == names


def raw_batch(base_offset: int, *bodies: bytes) -> bytearray:
    """A batch with a right CRC over records that are given as bytes, without their lengths."""
    like = read_header(new_batch([Record(base_offset, NOW, b"", b"")], base_offset=base_offset))
    payload = b"".join(encode_varint(len(body)) + body for body in bodies)
    header = like._replace(last_offset_delta=len(bodies) - 1, count=len(bodies))
    return assemble(header, payload)


def body(number: int, delta: bytes, key: bytes) -> bytes:
    """A tombstone; `delta` is that of its timestamp, as it lies there."""
    return b"\0" + delta + encode_varint(number) + encode_varint(len(key)) + key + b"\x01\0"


def test_a_retention_for_ever_keeps_tombstones_for_ever(place: Place) -> None:
    place.log.config = replace(CONFIG, delete_retention_ms=2**63 - 1)
    keyed(place.log, ("a", "1"), ("b", "1"), ("a", None))
    place.compact()
    [(_, header)] = all_batches(place.log)
    assert header.base_timestamp == 2**63 - 1
    place.compact(now_ms=NOW + 1000 * DAY_MS)
    assert pairs(place.log) == [(1, "b", "1"), (2, "a", None)]
    assert [record.timestamp for record in all_records(place.log)] == [NOW + 1, NOW + 2]


def test_a_tombstone_too_old_for_a_horizon_stays_until_its_key_comes_again(place: Place) -> None:
    keyed(place.log, ("a", "1"), ("a", None), at=-(2**63))
    cleaned_to = place.compact()
    [(batch, header)] = all_batches(place.log)
    assert not header.has_delete_horizon
    assert (header.base_timestamp, header.max_timestamp) == (-(2**63), -(2**63) + 1)
    assert [record.timestamp for record in records(batch)] == [-(2**63) + 1]
    place.compact(now_ms=NOW + 1000 * DAY_MS)
    assert pairs(place.log) == [(1, "a", None)]
    keyed(place.log, ("a", "2"))
    place.compact(first_dirty=cleaned_to)
    assert pairs(place.log) == [(2, "a", "2")]


def test_a_batch_that_cannot_be_rewritten_is_left_alone_and_stops_no_pass(place: Place) -> None:
    wide = b"\xff" * 9 + b"\x7f"  # 70 bits
    bad = raw_batch(0, body(0, wide, b"a"), body(1, wide, b"x"), body(2, wide, b"x"))
    place.append(bad)
    keyed(place.log, ("a", "1"), ("a", "2"))
    assert place.compact() == 5
    assert next(all_batches(place.log))[0] == bytes(bad)
    assert place.headers() == [(0, 3), (3, 1)]


def test_a_batch_that_cannot_be_read_supersedes_nothing(place: Place) -> None:
    keyed(place.log, ("a", "1"))
    zero = encode_varint(0)
    place.append(raw_batch(1, body(0, zero, b"a"), b"\0"))
    place.compact()
    assert next(all_batches(place.log))[1].base_offset == 0
    assert len(list(all_batches(place.log))) == 2
