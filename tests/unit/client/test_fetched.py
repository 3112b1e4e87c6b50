"""Whole batches out of a response: where they end, what is left out, what is damaged."""

import pytest

from kafkaesque.client.fetched import Fetched, size_of_first, whole_batches
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import Codec, Record, new_batch
from kafkaesque.records.control import Marker, new_marker
from kafkaesque.types import TopicPartition

PLACE = TopicPartition("orders", 0)


def batch(first: int, count: int = 1, producer_id: int = -1, codec: Codec = Codec.NONE) -> bytes:
    contents = [Record(first + n, 1000 + n, b"key", b"%d" % (first + n)) for n in range(count)]
    return bytes(
        new_batch(
            contents,
            base_offset=first,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=0,
            transactional=producer_id >= 0,
        )
    )


def marker(offset: int, producer_id: int, kind: Marker) -> bytes:
    return bytes(new_marker(offset, producer_id, 0, kind, 1000))


def offsets(data: bytes, offset: int = 0, aborted: tuple[tuple[int, int], ...] = ()) -> list[int]:
    fetched = Fetched(PLACE, offset, 100, data, 100, 0, aborted, batches=whole_batches(data))
    return [record.offset for record in fetched.records()]


@pytest.mark.parametrize("codec", Codec)
def test_records_begin_with_the_offset_that_was_asked_for(codec: Codec) -> None:
    data = batch(0, 5, codec=codec) + batch(5, 5, codec=codec)
    assert offsets(data) == list(range(10))
    assert offsets(data, 3) == list(range(3, 10))
    assert offsets(data, 7) == list(range(7, 10))


def test_markers_are_left_out() -> None:
    data = batch(0, 2, producer_id=7) + marker(2, 7, Marker.COMMIT) + batch(3)
    assert offsets(data) == [0, 1, 3]


def test_what_was_aborted_is_left_out_up_to_its_marker() -> None:
    data = (
        batch(0, producer_id=7)
        + batch(1, producer_id=8)
        + batch(2)
        + marker(3, 7, Marker.ABORT)
        + batch(4, producer_id=7)
        + marker(5, 8, Marker.COMMIT)
        + marker(6, 7, Marker.COMMIT)
    )
    assert offsets(data, aborted=((7, 0),)) == [1, 2, 4]
    assert offsets(data) == [0, 1, 2, 4]


def test_a_producer_may_have_aborted_twice() -> None:
    data = (
        batch(0, producer_id=7)
        + marker(1, 7, Marker.ABORT)
        + batch(2, producer_id=7)
        + marker(3, 7, Marker.COMMIT)
        + batch(4, producer_id=7)
        + marker(5, 7, Marker.ABORT)
    )
    assert offsets(data, aborted=((7, 4), (7, 0))) == [2]


def test_an_abort_that_began_before_the_response_counts() -> None:
    assert offsets(batch(10, producer_id=7) + batch(11), 10, ((7, 2),)) == [11]


def places(data: bytes) -> list[tuple[int, int]]:
    """Where whole batches begin, and the offset after each."""
    return [(position, header.next_offset) for position, header in whole_batches(data)]


def test_whole_batches_end_before_one_that_is_cut_off() -> None:
    first, second = batch(0, 3), batch(3, 4)
    assert places(first + second) == [(0, 3), (len(first), 7)]
    for cut in range(1, len(second)):
        assert places(first + second[:cut]) == [(0, 3)]


def test_the_size_of_a_batch_that_is_cut_off_is_known_from_its_head() -> None:
    whole = batch(0, 50)
    assert places(whole[:-1]) == []
    assert size_of_first(whole[:-1]) == len(whole)
    assert size_of_first(whole[:12]) == len(whole)
    assert size_of_first(whole[:5]) == 61
    assert size_of_first(b"\xff" * 40) == 100 << 20


def test_damage_in_the_first_batch_is_an_error_and_later_on_an_end() -> None:
    good, bad = batch(0), bytearray(batch(1))
    bad[-1] ^= 1
    assert places(good + bad) == [(0, 1)]
    with pytest.raises(KafkaError, match="offset 1 does not match its CRC") as raised:
        whole_batches(bytes(bad) + good)
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE
