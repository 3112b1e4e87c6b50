"""Standard input that Ctrl-C always interrupts.

Python looks for signals before it calls read(2), and again only when read(2) returns. A signal that
comes in between, as one does that is typed when the prompt appears, is not seen until something
else is typed. So the wait is a select(2) on the input and on a pipe into which the handler of every
signal writes (`signal.set_wakeup_fd`). Ctrl-C also takes back what was typed and not yet read, so
what select has seen may be gone: a terminal is opened a second time, not to wait in read(2). (The
flag on the first would be the shell's, too.)
"""

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from typing import BinaryIO

_CHUNK_BYTES = 1 << 16


class StandardInput:
    def __init__(self, stream: BinaryIO | FileIO, signalled: int | None) -> None:
        self._stream = stream
        # Only without a buffer is "nothing there" told apart from the end.
        self._read: Callable[[int], bytes | None]
        self._read = stream.read if isinstance(stream, FileIO) else stream.read1  # type: ignore[attr-defined]
        self._signalled = signalled

    def read(self) -> bytes:
        """All of it, to its end."""
        return b"".join(iter(lambda: self.read1(_CHUNK_BYTES), b""))

    def read1(self, size: int) -> bytes:
        """What is there, or comes next; nothing at the end. `size` is more than a buffer holds, so
        that nothing stays there, where select could not see it.
        """
        chunk: bytes | None = None
        while chunk is None:  # It is of a terminal whose input was taken back.
            while self._signalled is not None and not self._has_something(self._signalled):
                os.read(self._signalled, _CHUNK_BYTES)  # The handler has run, and let us go on.
            chunk = self._read(size)
        return chunk

    def would_wait(self) -> bool:
        try:
            return not select.select([self._stream.fileno()], [], [], 0)[0]
        except (OSError, ValueError):  # Not a stream that one waits for.
            return False

    def _has_something(self, signalled: int) -> bool:
        try:
            typed = self._stream.fileno()
            ready, _, _ = select.select([typed, signalled], [], [])
        except (OSError, ValueError):
            return True
        return typed in ready


@contextmanager
def standard_input(stream: BinaryIO) -> Iterator[StandardInput]:
    with _signals() as signalled:
        if signalled is None or (terminal := _second(stream)) is None:
            yield StandardInput(stream, signalled)
        else:
            with open(terminal, "rb", buffering=0) as second:
                yield StandardInput(second, signalled)


@contextmanager
def _signals() -> Iterator[int | None]:
    """A descriptor that can be read when a signal has come."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        try:
            before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        except ValueError:  # Signals are another thread's.
            yield None
            return
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(before)
    finally:
        os.close(reading)
        os.close(writing)


def _second(stream: BinaryIO) -> int | None:
    """The same terminal once more, if it is one and has a name here."""
    try:
        name = os.ttyname(stream.fileno())
        return os.open(name, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
