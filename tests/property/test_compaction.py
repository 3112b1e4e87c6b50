"""Compaction against the log that was never compacted: whoever reads either ends with the same.

A story is a random row of batches (keys of all lengths, tombstones, codecs, producers with and
without transactions), ends of transactions, rolls and passes, on a disk and in memory. After each
pass the compacted log is held against a list of everything that was ever appended.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.crash.forgetting import ForgettingFiles
from tests.tiers import examples
from tests.unit.log.compacting import (
    all_batches,
    all_records,
    compact_anywhere,
    table,
)
from tests.unit.log.logs import NOW, flush, new_disk, open_log

from kafkaesque.broker.partition_transactions import PartitionTransactions
from kafkaesque.broker.producers import Producers
from kafkaesque.log.compaction import Rules
from kafkaesque.log.index import SegmentIndex
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.memory import MemorySegments
from kafkaesque.log.producer_state import last_batch
from kafkaesque.log.segment import SealedSegment
from kafkaesque.records.batch import Codec, Record, new_batch, read_header, records
from kafkaesque.records.control import Marker, new_marker, read_marker
from kafkaesque.types import Buffer

KEYS = [b"a", b"", b"k" * 15, b"k" * 16, b"k" * 300]
PRODUCERS = (1, 2, 3)


@dataclass
class Story:
    """A log, and everything that was ever appended to it."""

    log: Log
    files: ForgettingFiles | None
    retention_ms: int
    now_ms: int = NOW
    appended: dict[int, Record] = field(default_factory=dict)
    whole: dict[int, bytes] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    producers: Producers = field(default_factory=Producers)
    transactions: PartitionTransactions = field(default_factory=PartitionTransactions)
    cleaned_to: int = 0
    first_cleaned_ms: dict[int, int] = field(default_factory=dict)

    def append(self, batch: Buffer) -> None:
        header = read_header(batch)
        self.log.append(batch, header, self.now_ms)
        self.producers.update(header, self.now_ms)
        if not header.is_control:
            self.transactions.appended(header, self.now_ms)
            self.whole[header.base_offset] = bytes(batch)
            self.appended |= {record.offset: record for record in records(batch)}

    @property
    def stable(self) -> int:
        return self.transactions.last_stable_offset(self.log.end_offset)

    def is_aborted(self, offset: int, producer_id: int) -> bool:
        return any(
            each.producer_id == producer_id and each.first_offset <= offset < each.last_offset
            for each in self.transactions.aborted(0, self.log.end_offset)
        )

    def committed(self, found: list[Record]) -> list[Record]:
        """What a reader of committed records sees of these."""
        owners = {
            record.offset: read_header(batch)
            for batch in self.whole.values()
            for record in records(batch)
        }
        return [
            record
            for record in found
            if record.offset < self.stable
            and not (
                owners[record.offset].is_transactional
                and self.is_aborted(record.offset, owners[record.offset].producer_id)
            )
        ]


Step = Callable[[Story], None]

some_records = st.lists(
    st.tuples(
        st.sampled_from(KEYS),
        st.sampled_from([None, b"", b"value", b"v" * 200]),
        st.integers(-50, 50),
        st.sampled_from([(), (("h", b"x"),), (("h", None), ("\udce9", b"y"))]),
    ),
    min_size=1,
    max_size=6,
)


def append(
    wanted: list[tuple[bytes, bytes | None, int, tuple[tuple[str, bytes | None], ...]]],
    codec: Codec,
    producer: int | None,
    is_transactional: bool,
) -> Step:
    def step(story: Story) -> None:
        base = story.log.end_offset
        story.now_ms += 10
        batch = new_batch(
            [
                Record(base + i, story.now_ms + age, key, value, headers)
                for i, (key, value, age, headers) in enumerate(wanted)
            ],
            base_offset=base,
            codec=codec,
            producer_id=-1 if producer is None else producer,
            producer_epoch=-1 if producer is None else 0,
            base_sequence=-1 if producer is None else story.sequences.get(producer, 0),
            transactional=producer is not None and is_transactional,
        )
        if producer is not None:
            if story.transactions.is_open(producer) and not is_transactional:
                return
            story.sequences[producer] = story.sequences.get(producer, 0) + len(wanted)
        story.append(batch)

    return step


def end(producer: int, marker: Marker) -> Step:
    def step(story: Story) -> None:
        if story.transactions.is_open(producer):
            offset = story.log.end_offset
            story.append(new_marker(offset, producer, 0, marker, story.now_ms))
            story.transactions.ended(producer, marker, offset)

    return step


def roll(story: Story) -> None:
    story.log.roll()


def wait(ms: int) -> Step:
    def step(story: Story) -> None:
        story.now_ms += ms

    return step


def compact(max_keys: int, forgets: bool) -> Step:
    def step(story: Story) -> None:
        if forgets:
            story.cleaned_to = 0
        before = {header.base_offset for _, header in all_batches(story.log)}
        end_offset = story.log.end_offset
        run_pass(story, max_keys)
        assert story.log.end_offset == end_offset
        check(story, before)

    return step


def run_pass(story: Story, max_keys: int) -> bool:
    """Whether there was anything to do."""
    if story.files is not None:
        flush(story.log)
    limit = story.stable
    given_rules = Rules(
        story.cleaned_to,
        story.now_ms,
        story.retention_ms,
        max_keys,
        story.transactions.packed_aborted(0, limit),
        story.producers.states(),
    )
    result = compact_anywhere(story.log, story.files, given_rules, limit)
    if result is None:
        return False
    assert result.cleaned_to > story.cleaned_to
    assert result.figures.unreadable == 0
    for offset in range(story.cleaned_to, result.cleaned_to):
        story.first_cleaned_ms.setdefault(offset, story.now_ms)
    story.cleaned_to = result.cleaned_to
    return True


def check(story: Story, before: set[int]) -> None:
    left = all_records(story.log)
    for record in left:
        assert record == story.appended[record.offset]
    everything = story.committed(list(story.appended.values()))
    assert table(story.committed(left)) == table(everything)
    check_latest(story, everything, {record.offset for record in left})
    check_superseded(story, everything, left)
    check_batches(story, before)
    check_segments(story)
    check_states(story)
    check_reads(story)


def check_latest(story: Story, everything: list[Record], left: set[int]) -> None:
    """The last value of each key stays, and a last tombstone for as long as it must."""
    for record in {record.key: record for record in everything}.values():
        if record.offset in left:
            continue
        assert record.value is None, "a last value is gone"
        assert story.first_cleaned_ms[record.offset] + story.retention_ms <= story.now_ms


def check_superseded(story: Story, everything: list[Record], left: list[Record]) -> None:
    """Where a pass was, no record is left but the last of its key there."""
    last = {r.key: r.offset for r in everything if r.offset < story.cleaned_to}
    assert {r.offset for r in left if r.offset < story.cleaned_to} <= set(last.values())


def check_batches(story: Story, before: set[int]) -> None:
    for batch, header in all_batches(story.log):
        assert header.base_offset in before
        if header.is_control:
            continue
        original = read_header(story.whole[header.base_offset])
        assert header.last_offset == original.last_offset
        assert (header.producer_id, header.base_sequence, header.producer_epoch) == (
            original.producer_id,
            original.base_sequence,
            original.producer_epoch,
        )
        if header.count:
            assert header.codec == original.codec
            assert header.max_timestamp == max(r.timestamp for r in records(batch))
        if header.count == original.count and not header.has_delete_horizon:
            assert batch == story.whole[header.base_offset]


def check_segments(story: Story) -> None:
    """Each ends where the next begins, and says so itself: recovery goes by it."""
    segments = story.log.sealed
    for number, segment in enumerate(segments):
        *_, (position, last) = segment.headers(segment.base_offset)
        assert last.next_offset == segment.next_offset
        assert position + last.size == segment.size
        if number:
            assert segments[number - 1].next_offset == segment.base_offset
        if isinstance(segment, SealedSegment):
            check_index(segment, story.log.config.index_interval_bytes)
    assert story.log.size == sum(len(batch) for batch, _ in all_batches(story.log))


def check_index(segment: SealedSegment, interval_bytes: int) -> None:
    """As it would be, had these batches been appended one by one."""
    expected = SegmentIndex(segment.base_offset, interval_bytes)
    for position, header in segment.headers(segment.base_offset):
        expected.add(header.last_offset, header.max_timestamp, position, header.size)
    expected.note_max_timestamp()
    index = segment.files.load_index(interval_bytes, segment.size)
    assert index is not None
    assert index.offset_bytes() == expected.offset_bytes()
    assert index.time_bytes() == expected.time_bytes()
    assert segment.latest() == (expected.max_timestamp, expected.offset_of_max_timestamp)


def check_states(story: Story) -> None:
    """What a start without any snapshot would make of producers and transactions."""
    producers, transactions = Producers(), PartitionTransactions()
    for batch, header in all_batches(story.log):
        producers.update(header, header.max_timestamp)
        if not header.is_control:
            transactions.appended(header, header.max_timestamp)
        elif marker := read_marker(batch):
            transactions.ended(header.producer_id, marker, header.base_offset)
    assert last_offsets(producers) == last_offsets(story.producers)
    assert {t.producer_id for t in transactions.open()} == {
        t.producer_id for t in story.transactions.open()
    }
    markers = {header.base_offset for _, header in all_batches(story.log) if header.is_control}
    assert {t.last_offset for t in transactions.aborted(0, story.log.end_offset)} <= markers


def last_offsets(producers: Producers) -> dict[int, int]:
    """Where the last batch of each producer ends: it tells the producer's sequence."""
    last_batches = {number: last_batch(state) for number, state in producers.states().items()}
    return {number: last.last_offset for number, last in last_batches.items() if last}


def check_reads(story: Story) -> None:
    """From wherever somebody reads: the batch with that offset, or the first after it."""
    log = story.log
    there = list(all_batches(log))
    for offset in range(log.log_start_offset, log.end_offset):
        expected = next(batch for batch, header in there if header.last_offset >= offset)
        assert bytes(log.read(offset, 1, log.end_offset).read()) == expected
    latest = max(all_records(log), key=lambda r: r.timestamp, default=None)
    found = log.offset_of_max_timestamp(log.end_offset)
    if latest is not None:
        assert found is not None
        assert found[1] >= latest.timestamp
        assert log.offset_for_timestamp(latest.timestamp, log.end_offset) is not None


batches = st.builds(
    append,
    some_records,
    st.sampled_from(list(Codec)),
    st.sampled_from([None, *PRODUCERS]),
    st.booleans(),
)
steps = st.lists(
    st.one_of(
        batches,
        batches,
        st.builds(end, st.sampled_from(PRODUCERS), st.sampled_from(list(Marker))),
        st.just(roll),
        st.builds(wait, st.sampled_from([10, 400, 2000])),
        st.builds(compact, st.sampled_from([1, 3, 1000]), st.booleans()),
    ),
    min_size=10,
    max_size=60,
)


@pytest.mark.parametrize("store", ["disk", "memory"])
@given(
    steps=steps,
    segment_bytes=st.sampled_from([300, 900, 4000]),
    retention_ms=st.sampled_from([0, 500]),
)
@settings(max_examples=examples(150))
def test_a_compacted_log_reads_like_the_one_that_was_not(
    store: str, steps: list[Step], segment_bytes: int, retention_ms: int
) -> None:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=200)
    files = new_disk() if store == "disk" else None
    log = open_log(files, config) if files else Log.open(MemorySegments(), config)
    story = Story(log, files, retention_ms)
    for step in steps:
        step(story)
    for producer in PRODUCERS:
        end(producer, Marker.ABORT)(story)
    story.log.roll()
    settle(story)
    if files is not None:
        reopen(story, files, config)


def settle(story: Story) -> None:
    """Pass after pass, each over everything: after a few nothing changes any more."""
    for _ in range(4):
        compact(max_keys=1000, forgets=True)(story)
    before = [batch for batch, _ in all_batches(story.log)]
    story.cleaned_to = 0
    if run_pass(story, 1000):
        assert [batch for batch, _ in all_batches(story.log)] == before
    everything = story.committed(list(story.appended.values()))
    latest = {record.key: record.offset for record in everything}
    assert {record.offset for record in all_records(story.log)} <= set(latest.values())


def reopen(story: Story, files: ForgettingFiles, config: LogConfig) -> None:
    """A start that believes nothing finds the same log."""
    flush(story.log)
    before = [batch for batch, _ in all_batches(story.log)]
    again = open_log(files.kill(), config)
    assert [batch for batch, _ in all_batches(again)] == before
    assert again.recovery.cut_bytes == 0
