"""A process that this benchmark started: it says on stdout when it is ready, and is always ended.

Each is ended by its own id, whatever ends the block that it runs in: SIGTERM, and SIGKILL for one
that stays. What it writes to stderr goes to a file, whose end is shown if it does not start.
"""

import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

STOP_S = 10.0


class StartError(Exception):
    """A process did not start; the message has the end of its log."""


class Running:
    """`pid` of a process, and the lines that it says."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.process = process
        self._log = log
        self._text = b""

    @property
    def pid(self) -> int:
        return self.process.pid

    def say(self, line: str) -> None:
        self._pipe(self.process.stdin).write(line.encode() + b"\n")
        self._pipe(self.process.stdin).flush()

    def hang_up(self) -> None:
        self._pipe(self.process.stdin).close()

    def line(self, within_s: float) -> str | None:
        """The next line, or None after so many seconds; an error if the process has ended."""
        output, deadline = self._pipe(self.process.stdout), time.monotonic() + within_s
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while b"\n" not in self._text:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return None
                data = os.read(output.fileno(), 65536)
                if not data:
                    raise StartError(self.last_words())
                self._text += data
        line, _, self._text = self._text.partition(b"\n")
        return line.decode(errors="replace")

    def expect(self, word: str, within_s: float) -> str:
        """The first line with the word in it."""
        deadline = time.monotonic() + within_s
        while True:
            line = self.line(max(0.0, deadline - time.monotonic()))
            if line is None:
                raise StartError(f"{self.name} did not say {word!r} in {within_s:.0f} s")
            if line.startswith("failed"):
                raise StartError(f"{self.name} {line}")
            if word in line:
                return line

    def _pipe(self, pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe

    def last_words(self) -> str:
        """Of a process that has ended: its exit code and the end of its log."""
        code = self.process.wait(STOP_S)
        return f"{self.name} ended with {code}:\n{self._log.read_text(errors='replace')[-2000:]}"


@contextmanager
def running(
    name: str,
    command: Sequence[str | Path],
    directory: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    log = directory / f"{name.replace(' ', '-').replace('/', '')}.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
    try:
        yield Running(name, process, log)
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass
