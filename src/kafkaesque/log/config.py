"""The settings of one log, by Kafka's topic configs of the same names.

Frozen: a change of a topic's config assigns `Log.config` a new one, which counts from the next
append on. `compacted` says that cleanup.policy has `compact`: then segments may leave gaps between
their offsets.
"""

from dataclasses import dataclass

WEEK_MS = 7 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogConfig:
    segment_bytes: int = 1 << 30
    segment_ms: int = WEEK_MS
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_bytes: int = -1
    retention_ms: int = WEEK_MS
    compacted: bool = False
