"""Frames out of bytes that come as they like: at once, one by one, cut anywhere."""

import pytest

from kafkaesque.client.frames import Frames
from kafkaesque.types import Buffer

FRAMES = [b"", b"one", bytes(70_000), b"two", bytes(range(256)) * 512, b"three"]
STREAM = b"".join(len(each).to_bytes(4, "big") + each for each in FRAMES)


class Reader:
    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.lost: list[Exception | None] = []
        self.protocol = Frames(self._receive, self.lost.append)

    def _receive(self, frame: Buffer) -> None:
        self.frames.append(bytes(frame))

    def feed(self, data: bytes) -> None:
        """As an event loop does: no more than there is room for."""
        while data:
            room = self.protocol.get_buffer(-1)
            size = min(len(room), len(data))
            room[:size] = data[:size]
            self.protocol.buffer_updated(size)
            data = data[size:]


@pytest.mark.parametrize("size", [1, 3, 4, 5, 1000, 65536, len(STREAM)])
def test_frames_come_whole_however_the_bytes_come(size: int) -> None:
    reader = Reader()
    for start in range(0, len(STREAM), size):
        reader.feed(STREAM[start : start + size])
    assert reader.frames == FRAMES
    assert reader.lost == []


@pytest.mark.parametrize("head", [b"\xff\xff\xff\xff", b"HTTP"])
def test_a_size_that_makes_no_sense_loses_the_connection(head: bytes) -> None:
    reader = Reader()
    reader.feed(head)
    assert "a frame of" in str(reader.lost[0])
