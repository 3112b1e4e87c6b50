"""What of a log compaction would take on, and whether it is worth a pass: Kafka's rules.

    | cleaned before | dirty: sealed, stable, old enough | too new | active |
                     first dirty offset                  limit

A pass goes through everything before the limit. It is worth it when more than
`min_cleanable_dirty_ratio` of that is dirty, or when a dirty record is older than
`max_compaction_lag_ms`. The offset up to which a log was cleaned is only a place to begin: one that
is lost or cannot be true makes all of the log dirty.
Above: broker/cleaner.py. Below: log.py.
"""

from dataclasses import dataclass
from itertools import takewhile

from kafkaesque.log.config import LogConfig
from kafkaesque.log.log import Log
from kafkaesque.log.store import Segment


@dataclass(frozen=True, slots=True)
class Cleanable:
    first_dirty: int
    segments: list[Segment]
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        size = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / size if size else 0.0

    def is_worth_it(self, config: LogConfig) -> bool:
        if self.is_overdue and self.dirty_bytes:
            return True
        return self.dirty_ratio > config.min_cleanable_dirty_ratio


def cleanable(log: Log, cleaned_to: int, limit: int, now_ms: int) -> Cleanable:
    """`limit` is the last stable offset, or what else must not be passed."""
    is_possible = log.log_start_offset <= cleaned_to <= log.end_offset
    first_dirty = cleaned_to if is_possible else log.log_start_offset
    config = log.config
    newest = now_ms - config.min_compaction_lag_ms

    def may_be_cleaned(segment: Segment) -> bool:
        if segment.next_offset > limit:
            return False
        if segment.next_offset <= first_dirty or not config.min_compaction_lag_ms:
            return True
        return segment.latest()[0] <= newest

    segments = list(takewhile(may_be_cleaned, log.sealed))
    dirty = [segment for segment in segments if segment.next_offset > first_dirty]
    dirty_bytes = sum(segment.size for segment in dirty)
    clean_bytes = sum(segment.size for segment in segments) - dirty_bytes
    oldest = now_ms - config.max_compaction_lag_ms
    is_overdue = oldest > 0 and any(0 <= s.first_timestamp() < oldest for s in dirty)
    return Cleanable(first_dirty, segments, clean_bytes, dirty_bytes, is_overdue)
