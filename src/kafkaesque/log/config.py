"""The settings of one log, by Kafka's topic configs of the same names.

Frozen: a change of a topic's config assigns `Log.config` a new one, which counts from the next
append on. Whether a log is compacted at all is the broker's business.
"""

from dataclasses import dataclass

DAY_MS = 24 * 60 * 60 * 1000
WEEK_MS = 7 * DAY_MS
NEVER_MS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    segment_bytes: int = 1 << 30
    segment_ms: int = WEEK_MS
    segment_index_bytes: int = 10 << 20
    index_interval_bytes: int = 4096
    retention_bytes: int = -1
    retention_ms: int = WEEK_MS
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER_MS
    delete_retention_ms: int = DAY_MS
