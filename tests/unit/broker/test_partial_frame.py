"""A frame takes memory for what has come of it, not for what it claims."""

import pytest

from kafkaesque.broker.partial_frame import PartialFrame

MB = 1 << 20


def fill(frame: PartialFrame, data: bytes) -> None:
    """As a socket would, a part at a time, with room made whenever it is full."""
    sent = 0
    while sent < len(data):
        room = frame.room()
        count = min(len(room), len(data) - sent)
        room[:count] = data[sent : sent + count]
        frame.filled += count
        sent += count
        if frame.is_full and not frame.is_whole:
            frame.grow()


@pytest.mark.parametrize("size", [8, 100, MB, 4 * MB, 4 * MB + 1, 100 * MB])
def test_five_bytes_cost_little_whatever_they_claim(size: int) -> None:
    frame = PartialFrame(size, memoryview(b"claim"))
    assert frame.held <= 16 * 1024 + 5


@pytest.mark.parametrize("size", [100_000, 2 * MB, 9 * MB])
@pytest.mark.parametrize("first", [0, 5, 60_000])
def test_what_has_come_is_there_whole(size: int, first: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    data = data[:size]
    frame = PartialFrame(size, memoryview(data[:first]))
    fill(frame, data[first:])
    assert frame.is_whole
    assert frame.whole() == data


@pytest.mark.parametrize("size", [3 * MB, 100 * MB])
def test_what_is_held_is_a_few_times_what_has_come_at_most(size: int) -> None:
    frame = PartialFrame(size, memoryview(b""))
    while not frame.is_whole:
        fill(frame, bytes(min(50_000, size - frame.filled)))
        assert frame.held <= max(4 * frame.filled, frame.filled + MB)
