"""A committed offset: what a group says about where it will go on reading a partition.

Above: the broker's OffsetCommit and TxnOffsetCommit, committed.py. Its bytes: records.py.
"""

from dataclasses import dataclass
from uuid import UUID

from kafkaesque.errors import ErrorCode

MAX_METADATA = 4096
NO_TOPIC_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """Where a group will go on reading a partition."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int | None = None
    """A time of its own to expire at, from OffsetCommit 2 to 4; None: by the broker's retention."""
    topic_id: UUID = NO_TOPIC_ID


def metadata_error(metadata: str | None, limit: int = MAX_METADATA) -> ErrorCode:
    """May this be committed along with an offset?"""
    if metadata is not None and len(metadata) > limit:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE
