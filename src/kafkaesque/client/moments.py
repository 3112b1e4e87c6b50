"""Moments as a program gives them, in Kafka's milliseconds since 1970.

Above: producer.py, starts.py.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Timestamp:
    """Milliseconds since 1970, where a bare number would be an offset."""

    ms: int


def milliseconds(moment: int | datetime | Timestamp) -> int:
    """A datetime without a zone is local time, as everywhere in Python."""
    if isinstance(moment, Timestamp):
        return moment.ms
    if isinstance(moment, datetime):
        return round(moment.timestamp() * 1000)
    return moment
