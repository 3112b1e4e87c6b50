"""A frame of which some bytes have come, and where the next ones go.

The length of a frame is only a claim. Memory is taken for what has really come and a few times as
much; whoever receives asks for more room when that is full. A large frame gets pages of a mapping
that cost nothing until they are written: growing it copies nothing, for copying megabytes would
keep everybody waiting.
"""

import mmap

_LAZY_PAGES = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_FIRST_BYTES = 16 * 1024
_GROWTH = 4
_MAPPED_BYTES = 4 << 20
_MAPPED_GROWTH_BYTES = 1 << 20


class PartialFrame:
    __slots__ = ("_buffer", "filled", "held", "size")

    def __init__(self, size: int, received: memoryview) -> None:
        self.size = size
        self.held = first_bytes(size, len(received))
        mapped = size > _MAPPED_BYTES
        self._buffer = memoryview(
            mmap.mmap(-1, size, flags=_LAZY_PAGES) if mapped else bytearray(self.held)
        )
        self._buffer[: len(received)] = received
        self.filled = len(received)

    def room(self) -> memoryview:
        return self._buffer[self.filled : self.held]

    @property
    def is_whole(self) -> bool:
        return self.filled == self.size

    @property
    def is_full(self) -> bool:
        return self.filled == self.held

    @property
    def growth(self) -> int:
        """How much more room it wants."""
        more = _MAPPED_GROWTH_BYTES if self.size > _MAPPED_BYTES else (_GROWTH - 1) * self.held
        return min(more, self.size - self.held)

    def grow(self) -> None:
        self.held += self.growth
        if len(self._buffer) < self.held:
            grown = memoryview(bytearray(self.held))
            grown[: self.filled] = self._buffer[: self.filled]
            self._buffer = grown

    def whole(self) -> memoryview:
        return self._buffer


def first_bytes(size: int, received: int) -> int:
    """What the first part of a frame takes."""
    if size > _MAPPED_BYTES:
        return min(size, received + _FIRST_BYTES)
    return min(size, max(_GROWTH * received, _FIRST_BYTES))
