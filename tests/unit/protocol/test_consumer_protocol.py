"""What a member of a classic group is assigned, read as every version of it begins."""

import pytest

from kafkaesque.errors import DecodeError
from kafkaesque.groups.subscription import encode_assignment
from kafkaesque.protocol.messages.consumer_protocol import assigned_partitions
from kafkaesque.types import TopicPartition

PLACES = [TopicPartition("orders", 0), TopicPartition("orders", 3), TopicPartition("prices", 1)]


def test_an_assignment_is_read_as_it_was_written() -> None:
    assert assigned_partitions(encode_assignment(PLACES)) == PLACES
    assert assigned_partitions(b"") == []


def test_what_a_later_version_adds_is_left_alone() -> None:
    later = b"\x00\x03" + encode_assignment(PLACES)[2:] + b"more"
    assert assigned_partitions(later) == PLACES


@pytest.mark.parametrize("size", range(1, 8))
def test_an_assignment_that_is_cut_off_is_refused(size: int) -> None:
    with pytest.raises(DecodeError):
        assigned_partitions(encode_assignment(PLACES)[:size])
