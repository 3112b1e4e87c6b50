"""The last line of a terminal, written over again and again: how far a command is.

Nothing is written if stderr is no terminal. A line that does not fit is cut: one that wraps could
not be taken back. Above: demo.py, topic/search.py, pipeline/progress.py.
"""

import shutil
import sys

_ERASE = "\r\x1b[K"


class StatusLine:
    """`is_on`: somebody may be looking."""

    def __init__(self) -> None:
        self.is_on = sys.stderr.isatty()
        self._is_shown = False

    def show(self, text: str) -> None:
        if self.is_on:
            self._is_shown = True
            fitting = text[: shutil.get_terminal_size().columns - 1]
            _write(f"{_ERASE}{fitting}")

    def clear(self) -> None:
        """Before anything else is printed."""
        if self._is_shown:
            self._is_shown = False
            _write(_ERASE)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
