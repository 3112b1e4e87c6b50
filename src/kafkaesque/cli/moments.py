"""A point in time as people write it on a command line, in milliseconds since 1970; and back.

As with rpk: 10 digits are seconds, 13 milliseconds, 19 nanoseconds; else it is RFC 3339, of which
the end may be left out, and what has no zone is in UTC.
"""

from datetime import UTC, datetime

import typer

_UNITS_IN_NS = {10: 1_000_000_000, 13: 1_000_000, 19: 1}
_NS_IN_MS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_moment(text: str) -> int:
    """Milliseconds since 1970; a usage error if it is no point in time."""
    if text.isascii() and text.isdigit() and len(text) in _UNITS_IN_NS:
        return int(text) * _UNITS_IN_NS[len(text)] // _NS_IN_MS
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is no point in time: write seconds (10 digits), milliseconds (13 digits) "
            "or a date as in 2021-06-30T10:43:49Z"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def moment_text(timestamp_ms: int | None) -> str | None:
    """RFC 3339 in UTC; the milliseconds themselves if they are beyond all calendars."""
    if timestamp_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
