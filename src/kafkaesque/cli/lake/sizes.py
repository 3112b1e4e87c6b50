"""A number of bytes as people write it: 4096, 512KiB, 128MiB, 1.5GB. Above: maintain.py, app.py."""

import re

import typer

_TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?i?B?)", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """A usage error if it is no number of bytes."""
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no number of bytes: write it as in 4096, 512KiB, 128MB or 1GiB"
        )
    unit = found[2].lower().removesuffix("b")
    base = 1024 if unit.endswith("i") else 1000
    return int(float(found[1]) * base ** _POWERS[unit.removesuffix("i")])


def size_text(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size_bytes} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
