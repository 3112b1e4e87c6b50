"""A length of time as people write it: 850ms, 12s, 3m12s, 2h5m, 1.5d. In milliseconds inside.

What is printed has the two largest units that there are, and can be read again.
Above: txn/, topic/position_text.py.
"""

import re

import typer

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhd])")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_UNITS_IN_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def read_duration(text: str) -> int | None:
    """Milliseconds; None if it is no length of time."""
    if not _WHOLE.fullmatch(text):
        return None
    return int(sum(float(number) * _UNITS_IN_MS[unit] for number, unit in _PART.findall(text)))


def parse_duration(text: str) -> int:
    """Milliseconds; a usage error if it is no length of time."""
    ms = read_duration(text)
    if ms is None:
        raise typer.BadParameter(
            f"{text!r} is no length of time: write it as in 500ms, 30s, 5m, 1h30m or 2d"
        )
    return ms


def duration_text(ms: int | None) -> str | None:
    if ms is None or ms < 1000:
        return None if ms is None else f"{ms}ms"
    parts: list[tuple[int, str]] = []
    for unit in ("d", "h", "m", "s"):
        count, ms = divmod(ms, _UNITS_IN_MS[unit])
        if count or parts:
            parts.append((count, unit))
    return "".join(f"{count}{unit}" for count, unit in parts[:2] if count)
