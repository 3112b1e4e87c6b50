"""A user at a terminal: `kafkaesque` in a process of its own whose streams are a pseudo-terminal.

What is typed is echoed, and the screen shows stdout and stderr together, as a terminal does.
"""

import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.broker_process import COMMAND
from tests.foreign import TIMEOUT_S, until

CTRL_C = "\x03"
CTRL_D = "\x04"


class TypingUser:
    def __init__(self, process: "subprocess.Popen[bytes]", terminal: int) -> None:
        self.screen = ""
        self._process = process
        self._terminal = terminal

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def see(self, text: str) -> None:
        """Wait until the screen shows it."""
        until(lambda: text in self._look())

    def exit_code(self) -> int:
        until(lambda: (self._look(), self._process.poll() is not None)[1])
        return self._process.wait(TIMEOUT_S)

    def _look(self) -> str:
        os.set_blocking(self._terminal, False)
        try:
            while chunk := os.read(self._terminal, 4096):
                self.screen += chunk.decode().replace("\r\n", "\n")
        except OSError:  # Nothing new, or the other side has gone.
            pass
        return self.screen


@contextmanager
def typing_user(*args: object) -> Iterator[TypingUser]:
    terminal, other_side = pty.openpty()
    process = subprocess.Popen(
        [str(COMMAND), *map(str, args)],
        stdin=other_side,
        stdout=other_side,
        stderr=other_side,
        # Its own session with the terminal in charge of it, so that ^C reaches it as a signal.
        start_new_session=True,
        preexec_fn=_take_terminal,
    )
    os.close(other_side)
    try:
        yield TypingUser(process, terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def _take_terminal() -> None:
    os.close(os.open(os.ttyname(0), os.O_RDWR))
