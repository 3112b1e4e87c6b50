"""What is typed is read as it comes, and a signal is seen wherever it comes."""

import io
import os
import pty
import select
import signal
import termios
import threading
from collections.abc import Iterator
from types import FrameType
from typing import BinaryIO

import pytest

from kafkaesque.cli.topic.standard_input import standard_input


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, int]]:
    reading, writing = os.pipe()
    with open(reading, "rb") as stream, open(writing, "wb", buffering=0):
        yield stream, writing


@pytest.fixture
def first_taken() -> Iterator[threading.Event]:
    """Of two SIGINTs the first is taken and changes nothing, the second is an interrupt."""
    taken = threading.Event()

    def take(_number: int, _frame: FrameType | None) -> None:
        if taken.is_set():
            raise KeyboardInterrupt
        taken.set()

    before = signal.signal(signal.SIGINT, take)
    try:
        yield taken
    finally:
        signal.signal(signal.SIGINT, before)


def signal_twice(first_taken: threading.Event) -> None:
    """This thread takes the signals: no call of the main thread is interrupted by them, as none is
    by a signal that comes just before the call.
    """
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    first_taken.wait()
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)


def test_a_signal_that_interrupts_no_call_is_seen(
    pipe: tuple[BinaryIO, int], first_taken: threading.Event
) -> None:
    stream, writing = pipe
    os.write(writing, b"line\n")
    signals = threading.Thread(target=signal_twice, args=[first_taken])
    with standard_input(stream) as typed:
        assert typed.read1(1 << 16) == b"line\n"
        signals.start()
        with pytest.raises(KeyboardInterrupt):
            typed.read()
    signals.join()


def test_input_comes_as_it_is_typed_and_whole_to_its_end(pipe: tuple[BinaryIO, int]) -> None:
    stream, writing = pipe
    with standard_input(stream) as typed:
        assert typed.would_wait()
        os.write(writing, b"a" * 10_000)
        assert not typed.would_wait()
        assert typed.read1(1 << 16) == b"a" * 10_000
        os.write(writing, b"b\n")
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), writing)
        assert (typed.read(), typed.would_wait()) == (b"b\n", False)


def test_a_signal_is_seen_on_a_terminal_whose_input_was_taken_back(
    first_taken: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C takes a line back, maybe after select has seen it and before it is read."""
    user, side = pty.openpty()
    wait = select.select
    signals = threading.Thread(target=signal_twice, args=[first_taken])

    def see_and_take_back(
        reading: list[int], writing: list[int], failing: list[int]
    ) -> tuple[list[int], list[int], list[int]]:
        ready = wait(reading, writing, failing)
        if not signals.ident:
            termios.tcflush(side, termios.TCIFLUSH)
            signals.start()
        return ready

    with open(user, "wb", buffering=0) as keys, open(side, "rb") as stream:
        keys.write(b"line\n")
        monkeypatch.setattr(select, "select", see_and_take_back)
        with standard_input(stream) as typed, pytest.raises(KeyboardInterrupt):
            typed.read()
        signals.join()


def test_a_terminal_is_read_line_by_line_to_its_end() -> None:
    user, side = pty.openpty()
    with open(user, "wb", buffering=0) as keys, open(side, "rb") as stream:
        with standard_input(stream) as typed:
            keys.write(b"line\n")
            assert (typed.read1(1 << 16), typed.would_wait()) == (b"line\n", True)
            keys.write(b"other\n\x04")
            assert typed.read() == b"other\n"
        assert os.get_blocking(side)


def test_what_is_no_file_and_another_threads_is_read_as_well() -> None:
    read = []

    def read_all() -> None:
        with standard_input(io.BytesIO(b"text")) as typed:
            read.append((typed.would_wait(), typed.read()))

    read_all()
    thread = threading.Thread(target=read_all)
    thread.start()
    thread.join()
    assert read == [(False, b"text")] * 2


def test_signals_wake_afterwards_whom_they_woke_before(pipe: tuple[BinaryIO, int]) -> None:
    stream, writing = pipe
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing)
    try:
        with standard_input(io.BytesIO()):
            pass
        assert signal.set_wakeup_fd(before) == writing
    finally:
        signal.set_wakeup_fd(before)
    stream.close()
