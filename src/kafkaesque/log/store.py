"""What a log stands on: segments, in files (disk.py) or in memory (memory.py).

One interface, two kinds. The store keeps the segments in order and changes their number; log.py
keeps the offsets and the rules. `Flush`, `Checkpoint` and `Swap` are jobs: made on the event loop,
run in a thread, ended on the loop again.
Above: log.py. Below: nothing, these are only shapes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kafkaesque.log.config import LogConfig
from kafkaesque.log.slices import Hints, Slice
from kafkaesque.records.batch import BatchHeader
from kafkaesque.types import Buffer


@dataclass(slots=True)
class Recovery:
    """What opening a log found and did. The sentences are for the broker's own log."""

    scanned_bytes: int = 0
    cut_bytes: int = 0
    rebuilt_indexes: int = 0
    sentences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A segment that waits to take the place of those that it was made of."""

    base_offset: int
    next_offset: int
    size: int
    max_timestamp: int
    offset_of_max_timestamp: int


class Segment(Protocol):
    """Batches from `base_offset` up to, not including, `next_offset`."""

    @property
    def base_offset(self) -> int: ...

    @property
    def next_offset(self) -> int: ...

    @property
    def size(self) -> int: ...

    def slice(
        self, offset: int, max_bytes: int, limit: int, min_one: bool, hints: Hints
    ) -> Slice: ...

    def headers(self, from_offset: int) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches that end at or above an offset."""

    def batch(self, position: int, size: int) -> Buffer: ...

    def latest(self) -> tuple[int, int]:
        """The largest timestamp, and the last offset of the first batch that has it."""

    def first_timestamp(self) -> int:
        """Of its first batch; NO_TIMESTAMP where there is none."""

    def older_than(self, timestamp: int) -> int:
        """An offset before which every record is older than `timestamp`."""

    def latest_before(self, offset: int) -> tuple[int, int]:
        """The largest timestamp that an index has below an offset, and the offset behind it."""

    def remove(self) -> None: ...


class Active(Segment, Protocol):
    """The last segment, which takes appends."""

    def append(self, batch: Buffer, header: BatchHeader, now_ms: int) -> None: ...

    def must_roll(self, header: BatchHeader, now_ms: int, config: LogConfig) -> bool: ...


class Flush(Protocol):
    end_offset: int
    """What is durable once `run` has returned."""

    position: int | None
    """Where the active segment ended then, if that is still so."""

    def lower(self, end_offset: int) -> None: ...

    def run(self) -> None:
        """For a thread. Raises OSError."""


class Swap(Protocol):
    """Files of old segments make room for those of a new one."""

    @property
    def old(self) -> Sequence[Segment]: ...

    @property
    def new(self) -> Segment: ...

    @property
    def is_undone(self) -> bool:
        """After `run` has raised, or `finish` has returned: whether all is as it was before."""

    def run(self) -> None:
        """For a thread. Raises OSError."""

    def finish(self) -> None:
        """After `run` has raised: complete or undo it. For a thread. Raises OSError: try again."""

    def forget_old(self) -> None:
        """Let go of the old segments. For a thread."""


class Checkpoint(Protocol):
    offset: int
    """A recovery point that can be trusted once `run` has returned."""

    def run(self) -> None:
        """For a thread. Raises OSError."""


class Store(Protocol):
    durable: bool

    @property
    def segments(self) -> Sequence[Segment]:
        """In order; the last one is the active one."""

    @property
    def active(self) -> Active: ...

    @property
    def unfinished_swap(self) -> Swap | None:
        """One that has not come to its end, because it is under way or the disk has failed."""

    def open(
        self, config: LogConfig, log_start_offset: int, recovery_point: int | None, clean: bool
    ) -> Recovery: ...

    def roll(self, base_offset: int, config: LogConfig) -> None:
        """Seal the active segment and begin another. Raises OSError with nothing changed."""

    def truncate(self, offset: int, config: LogConfig) -> None:
        """Drop the batch that contains `offset` and all after it."""

    def restart_at(self, offset: int, config: LogConfig, known_to: int = -1) -> None:
        """Drop everything and begin at `offset`, durably. Snapshots up to `known_to` stay true."""

    def detach(self, count: int) -> list[Segment]:
        """Take the first segments out. They are not read any more; `remove` deletes them."""

    def remove(self, segments: Sequence[Segment]) -> None: ...

    def swap(self, old: Sequence[Segment], cleaned: Cleaned) -> Swap: ...

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Read `new` from now on. Readers of the old ones are not disturbed."""

    def remove_cleaned(self) -> None:
        """Delete what compaction has written and nobody has asked for."""

    def flush(self, end_offset: int) -> Flush: ...

    def end_flush(self, flush: Flush) -> None: ...

    def repair_tail(self, flush: Flush | None, recovery_point: int) -> None:
        """After a failed flush, with all it covered dropped: make sure of what remains."""

    def checkpoint(self, offset: int, snapshot: tuple[int, bytes] | None) -> Checkpoint: ...

    def end_checkpoint(self, checkpoint: Checkpoint) -> None: ...

    def write_snapshot(self, offset: int, data: bytes) -> None: ...

    def latest_snapshot(self, max_offset: int) -> tuple[int, bytes] | None: ...

    def close(self, clean: bool) -> None: ...
