"""How a command that runs until it is told to stop is told: Ctrl-C or SIGTERM.

The first signal only sets `asked`, so that the command comes to its end in its own time; a second
one ends it as if nobody listened.
"""

import signal
from types import FrameType
from typing import Any

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has cancelled."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def listen(self) -> "StopRequest":
        self._before = {number: signal.signal(number, self._ask) for number in _SIGNALS}
        return self

    def end(self) -> None:
        """Listen no more: signals mean again what they meant before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
