"""FilterError: what is wrong with a filter, where, and what to write instead."""

_SHOWN_BEFORE = 40
_SHOWN_AFTER = 30
_MAX_QUOTED = 60


def quoted(text: str) -> str:
    """A piece of a filter, for a message: no longer than somebody would read."""
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


class FilterError(ValueError):
    """`position` counts characters from 0; str() shows the text with a caret under that place."""

    def __init__(self, message: str, position: int, text: str = "") -> None:
        super().__init__(message, position)
        self.message = message
        self.position = position
        self.text = text

    def __str__(self) -> str:
        headline = f"{self.message} (at character {self.position})"
        if not self.text:
            return headline
        start = max(0, self.position - _SHOWN_BEFORE)
        end = self.position + _SHOWN_AFTER
        shown = "".join(c if c.isprintable() else " " for c in self.text[start:end])
        before = "…" if start else ""
        after = "…" if end < len(self.text) else ""
        caret = " " * (len(before) + self.position - start) + "^"
        return f"{headline}\n  {before}{shown}{after}\n  {caret}"
