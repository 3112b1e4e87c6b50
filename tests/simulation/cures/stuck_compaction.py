"""Cures of compaction that failed at every pass, wrote what nobody can read, or failed for all."""

from collections.abc import Callable, Sequence

from tests.simulation.cures.cure import Change, Cure

from kafkaesque.broker.cleaner import Cleaner
from kafkaesque.broker.compactors import CompactionError, FilesInSlices
from kafkaesque.broker.partition import Partition
from kafkaesque.errors import KafkaError
from kafkaesque.log.compact import Request, Result, compact
from kafkaesque.log.compaction import Compaction, _times
from kafkaesque.log.store import Segment
from kafkaesque.records.batch import BatchHeader
from kafkaesque.records.record import MAX_TIMESTAMP
from kafkaesque.types import Buffer


def _with_horizon_beyond_64_bits() -> Callable[..., Buffer]:
    with_horizon = Compaction._with_horizon

    def beyond_64_bits(
        self: Compaction,
        data: bytes,
        at: int,
        header: BatchHeader,
        unpacked: bytes,
        places: Sequence[tuple[int, int]],
    ) -> Buffer:
        horizon = self._rules.now_ms + self._rules.delete_retention_ms
        if horizon <= MAX_TIMESTAMP:
            return with_horizon(self, data, at, header, unpacked, places)
        return self._rewritten(header, unpacked, places, _times(header, unpacked, places), horizon)

    return beyond_64_bits


def _with_horizon_however_far(
    self: Compaction,
    data: bytes,
    at: int,
    header: BatchHeader,
    unpacked: bytes,
    places: Sequence[tuple[int, int]],
) -> Buffer:
    horizon = min(self._rules.now_ms + self._rules.delete_retention_ms, MAX_TIMESTAMP)
    return self._rewritten(header, unpacked, places, _times(header, unpacked, places), horizon)


async def _clean_unless_surprised(self: Cleaner, partition: Partition) -> None:
    began_ms = self._monotonic()
    try:
        work = self._work(partition)
        done = await self._compactor.compact(work, lambda: None) if work else None
        if done is None:
            self._try_later(partition)
        else:
            await self._storage.note_cleaned(partition, done.cleaned_to)
            self._succeeded(partition, done, began_ms)
    except (CompactionError, KafkaError, OSError) as error:
        if not self._is_stopping:
            self._failed(partition, error)


async def _run_as_a_child_does(
    self: FilesInSlices, request: Request, is_void: Callable[[], bool]
) -> Result:
    """Whatever ends a child process is told as one kind of error."""
    try:
        return await self.all(compact(self._files, request), is_void)
    except Exception as error:
        raise CompactionError(str(error)) from error


async def _leave_swap_to_the_next_start(self: Partition) -> None:
    pass


def _removable_whatever_is_unfinished(self: Partition, log_start_offset: int) -> list[Segment]:
    return [each for each in self._removable if each.next_offset <= log_start_offset]


COMPACTION = (
    Cure(
        "swaps-finished-later",
        "has not removed",
        lambda: [
            Change(Partition, "finish_swap", _leave_swap_to_the_next_start),
            Change(Partition, "removable", _removable_whatever_is_unfinished),
        ],
    ),
    Cure(
        "delete-horizon-within-64-bits",
        "a traceback in the log: .* was not compacted",
        lambda: [Change(Compaction, "_with_horizon", _with_horizon_beyond_64_bits())],
    ),
    Cure(
        "timestamp-delta-within-64-bits",
        "a client cannot read what it is sent: a varint",
        lambda: [Change(Compaction, "_with_horizon", _with_horizon_however_far)],
    ),
    Cure(
        "compaction-in-memory-per-partition",
        "a traceback in the log: clean failed",
        lambda: [
            Change(Compaction, "_with_horizon", _with_horizon_beyond_64_bits()),
            Change(FilesInSlices, "run", _run_as_a_child_does),
            Change(Cleaner, "_clean", _clean_unless_surprised),
        ],
    ),
)
