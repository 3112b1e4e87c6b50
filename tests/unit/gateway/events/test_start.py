"""`from`: every form that it has, and what is none."""

import pytest

from kafkaesque.gateway.events.start import End, Moment, Offset, Resume, Start, parse_start
from kafkaesque.types import TopicPartition


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", End.EARLIEST),
        ("latest", End.LATEST),
        ("0", Offset(0)),
        ("1700000000000", Offset(1700000000000)),
        ("@1700000000000", Moment(1700000000000)),
        ("@1700000000", Moment(1700000000000)),
        ("2023-11-14T22:13:20Z", Moment(1700000000000)),
        ("@2023-11-14T22:13:20Z", Moment(1700000000000)),
        ("2023-11-14T23:13:20.250 01:00", Moment(1700000000250)),
        ("2023-11-14 22:13", Moment(1699999980000)),
        ("2023-11-14", Moment(1699920000000)),
        ("0001-01-01", Moment(0)),
        ("0:12", Resume({TopicPartition("t", 0): 12})),
        ("a/0:1,b/1:2", Resume({TopicPartition("a", 0): 1, TopicPartition("b", 1): 2})),
    ],
)
def test_each_form_means_one_thing(text: str, start: Start) -> None:
    assert parse_start(text, "t") == start


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no place to begin: write earliest"),
        ("beginning", "is no place to begin"),
        ("-1", "is no place to begin"),
        ("9999999999999999999", "beyond the offsets"),
        ("@17", "has 2 digits"),
        ("@yesterday", "is no point in time"),
        ("2023-99-99", "is no point in time"),
        ("0:1,0:2", "twice"),
        ("0:1,x", "is not PARTITION:OFFSET"),
    ],
)
def test_what_is_no_start_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_start(text, "t")
