"""`from`: where a reader begins, as it stands in an address.

    earliest  latest           the first event there is; only what comes from now on
    12                         an offset, in every partition
    0:12,1:7  a/0:12,b/1:7     a vector: partitions that it does not name begin at their first event
    @1700000000000             a time in milliseconds (13 digits) or seconds (10 digits) since 1970
    2026-11-15T19:30:00Z       a time in ISO 8601; UTC, if it does not say

A number is always an offset, and a time always has its `@` or its dashes: nothing is guessed.
Pure. Above: read.py. Below: client/vectors.py.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TypeAlias

from kafkaesque.client.vectors import parse_vector
from kafkaesque.types import TopicPartition


class End(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Offset:
    number: int


@dataclass(frozen=True, slots=True)
class Moment:
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class Resume:
    """A vector: where to go on in each partition."""

    positions: dict[TopicPartition, int]


Start: TypeAlias = End | Offset | Moment | Resume

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = {10: 1000, 13: 1}
_FORMS = (
    "write earliest, latest, an offset as in 12, a vector as in 0:12,1:7, or a time as in "
    "@1700000000000 or 2026-11-15T19:30:00Z"
)


def parse_start(text: str, topic: str | None) -> Start:
    """`topic` is that of vectors without names. Raises ValueError, which says what is wrong."""
    if text in ("earliest", "latest"):
        return End(text)
    if re.fullmatch(r"[0-9]{1,19}", text, re.ASCII):
        if int(text) >= 2**63:
            raise ValueError(f"{text} is beyond the offsets of Kafka")
        return Offset(int(text))
    if text.startswith("@"):
        return Moment(_since_1970(text[1:]))
    if re.match(r"[0-9]{4}-", text, re.ASCII):
        return Moment(_iso_8601(text))
    if not re.search(r"[0-9]:[0-9]", text, re.ASCII):
        raise ValueError(f"{text!r} is no place to begin: {_FORMS}")
    return Resume(parse_vector(text, topic))


def _since_1970(text: str) -> int:
    if re.fullmatch(r"[0-9]+", text, re.ASCII):
        if len(text) not in _MS:
            raise ValueError(
                f"@{text} has {len(text)} digits: write seconds (10) or milliseconds (13)"
            )
        return int(text) * _MS[len(text)]
    return _iso_8601(text)


def _iso_8601(text: str) -> int:
    try:
        # In an address a + is a blank.
        moment = datetime.fromisoformat(re.sub(r"(T.*) (?=[0-9]{2}:?[0-9]{2}$)", r"\1+", text))
    except ValueError:
        raise ValueError(
            f"{text!r} is no point in time: write it as 2026-11-15T19:30:00Z"
        ) from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return max(0, (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000)
