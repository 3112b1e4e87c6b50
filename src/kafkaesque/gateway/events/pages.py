"""Pages: a part of a stream as one answer, with the address of the next part.

    {"events": […], "gaps": […], "position": "0:12,1:7",
     "next": "/topics/ticks/events?from=0:12,1:7"}

A page ends at its limit, at MAX_BYTES, where the partitions ended when it was asked for, or, if a
filter lets little through, after MAX_S. An empty one may be waited for. Following `next` misses
nothing and gives nothing twice.
Above: read.py. Below: reading.py.
"""

import asyncio
import time
from contextlib import aclosing
from typing import Any, NamedTuple

from kafkaesque.gateway.events.forms import Fields, gap_fields
from kafkaesque.gateway.events.reading import Gap, Match, Reading
from kafkaesque.gateway.events.stats import Stats
from kafkaesque.records.record import Record

MAX_BYTES = 8 << 20
MAX_S = 10.0
_LOOK_S = 0.5
"""How often a page that waits sees whether the gateway stops."""


class Page(NamedTuple):
    events: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    position: str


async def read_page(
    reading: Reading,
    limit: int,
    wait_s: float,
    stats: Stats,
    stopping: asyncio.Event,
    fields: Fields,
) -> Page:
    events: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    size = 0
    deadline = time.monotonic() + wait_s
    async with aclosing(reading.items(min(wait_s, _LOOK_S) or _LOOK_S)) as items:
        async for item in items:
            if isinstance(item, Match):
                events.append(fields(*item.place, item.record))
                size += _size(item.record)
                if len(events) == limit or size >= MAX_BYTES:
                    break
            elif isinstance(item, Gap):
                gaps.append(gap_fields(item))
            elif stopping.is_set() or _is_over(reading, bool(events), deadline):
                break
    stats.delivered += len(events)
    stats.gaps += len(gaps)
    return Page(events, gaps, str(reading.vector))


def _is_over(reading: Reading, has_events: bool, deadline: float) -> bool:
    now = time.monotonic()
    return now >= deadline + MAX_S or (reading.is_at_end and (has_events or now >= deadline))


def _size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"")
