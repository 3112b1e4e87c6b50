"""What happened, a line for each event: time, who, what. One seed, one history, byte for byte."""

from collections.abc import Callable


class History:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.time: Callable[[], float] = lambda: 0.0

    def note(self, who: str, what: str) -> None:
        self.lines.append(f"{self.time():11.6f} {who:12} {what}")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
