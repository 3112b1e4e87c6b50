"""Which segments are too old or too many: pure rules over a log's segments.

Kafka's: a segment goes when its newest record is older than `retention_ms`, or when the log without
it still holds `retention_bytes`; oldest first, and none that holds records above `limit` (the high
watermark). The answer is the offset that the log should start at. It may be the end of the active
segment: that one has to be rolled first.
Above: log.py. Below: nothing.
"""

from collections.abc import Sequence

from kafkaesque.log.config import LogConfig
from kafkaesque.log.store import Segment


def retained_from(segments: Sequence[Segment], config: LogConfig, limit: int, now_ms: int) -> int:
    """The offset where what is to be kept begins."""
    size = sum(segment.size for segment in segments)
    for segment in segments:
        is_empty = segment.size == 0
        if segment.next_offset > limit or (is_empty and segment is segments[-1]):
            return segment.base_offset
        if not (is_empty or _is_surplus(segment, size, config) or _is_old(segment, config, now_ms)):
            return segment.base_offset
        size -= segment.size
    return segments[-1].next_offset


def _is_surplus(segment: Segment, size: int, config: LogConfig) -> bool:
    return config.retention_bytes >= 0 and size - segment.size >= config.retention_bytes


def _is_old(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    if config.retention_ms < 0:
        return False
    timestamp = segment.latest()[0]
    # Records without timestamps are kept by age for ever, and only `retention_bytes` bounds them.
    return 0 <= timestamp < now_ms - config.retention_ms
