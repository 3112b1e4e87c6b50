"""Idempotent producers: what is appended, what is a duplicate, what is out of order."""

import pytest

from kafkaesque.broker.producers import BATCHES_KEPT, Producers
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import BatchHeader

LAST = 0x7FFFFFFF


def header(
    sequence: int, *, count: int = 1, offset: int = 0, pid: int = 7, epoch: int = 0
) -> BatchHeader:
    return BatchHeader(
        base_offset=offset,
        batch_length=49,
        leader_epoch=0,
        magic=2,
        crc=0,
        attributes=0,
        last_offset_delta=count - 1,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        count=count,
    )


def refused(producers: Producers, batch: BatchHeader) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        producers.check(batch)
    return caught.value.code


def with_batches(*sequences: int) -> Producers:
    producers = Producers()
    for offset, sequence in enumerate(sequences):
        producers.update(header(sequence, offset=offset * 10), now_ms=1000)
    return producers


def test_an_unknown_producer_may_start_anywhere() -> None:
    assert Producers().check(header(123)) is None


def test_the_next_sequence_is_appended() -> None:
    assert with_batches(0, 1, 2).check(header(3)) is None


def test_a_duplicate_is_answered_with_its_original_offset() -> None:
    there = with_batches(0, 1, 2).check(header(1))
    assert there is not None
    assert there.base_offset == 10


def test_only_the_last_five_batches_are_remembered() -> None:
    producers = with_batches(*range(BATCHES_KEPT + 1))
    assert producers.check(header(1)) is not None
    assert refused(producers, header(0)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_out_of_order() -> None:
    assert refused(with_batches(0), header(2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_same_start_with_another_count_is_not_a_duplicate() -> None:
    code = refused(with_batches(0, 1), header(1, count=2))
    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_at_the_end() -> None:
    assert with_batches(LAST).check(header(0)) is None
    producers = Producers()
    producers.update(header(LAST - 1, count=4), now_ms=0)
    assert producers.check(header(2)) is None


def test_a_new_epoch_starts_at_zero() -> None:
    producers = with_batches(0, 1)
    assert producers.check(header(0, epoch=1)) is None
    assert refused(producers, header(5, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_old_epoch_is_fenced() -> None:
    producers = Producers()
    producers.update(header(0, epoch=3), now_ms=0)
    assert refused(producers, header(1, epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_snapshot_brings_everything_back() -> None:
    producers = with_batches(0, 1, 2)
    producers.update(header(9, pid=8, epoch=2, offset=77), now_ms=5000)
    snapshot = b"".join(producers.snapshot())
    restored, end = Producers.restore(snapshot)
    assert b"".join(restored.snapshot()) == snapshot
    assert end == len(snapshot)
    there = restored.check(header(9, pid=8, epoch=2))
    assert there is not None
    assert there.base_offset == 77
    assert restored.check(header(3)) is None


def test_who_is_forgotten_may_start_anywhere() -> None:
    producers = with_batches(0)
    producers.update(header(0, pid=8), now_ms=9000)
    producers.forget(7)
    assert producers.ids() == {8}
    assert producers.check(header(55)) is None


def test_records_without_a_producer_id_leave_no_trace() -> None:
    producers = Producers()
    producers.update(header(-1, pid=-1), now_ms=0)
    assert len(producers) == 0
