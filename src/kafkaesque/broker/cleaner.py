"""The log cleaner: looks for compacted topics with enough to compact, and has it done.

One partition at a time, the one with the largest share of dirty bytes first, as in Kafka. A pass
that fails, for whatever reason, is that partition's failure alone: it is tried again later, and
later each time. One whose disk hangs, under its child or when the result is put in place, is left
to its end, and the others have their turn.

What must not be compacted: the active segment, records above the last stable offset, and records
that no checkpoint covers yet. The last is ours: what the headers of a compacted log no longer tell
of its producers is in the checkpoint's snapshot.
The metadata log is no topic of `topics`, and never comes here: its records have no keys.
Above: broker.py. Below: compactors.py, log/cleanable.py.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from kafkaesque.broker.compactors import (
    SWAPS_AT_ONCE,
    CompactionError,
    Compactor,
    Done,
    Work,
)
from kafkaesque.broker.config import Config
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.storage import Storage
from kafkaesque.broker.topics import Topics
from kafkaesque.broker.upkeep import PATIENCE_SECONDS
from kafkaesque.errors import KafkaError
from kafkaesque.log.cleanable import Cleanable, cleanable
from kafkaesque.log.compaction import BYTES_PER_KEY, Rules
from kafkaesque.log.config import NEVER_MS
from kafkaesque.metrics import Metric, Sample
from kafkaesque.types import Clock

logger = logging.getLogger(__name__)

_MAX_DOUBLINGS = 8
_MOST_HUNG_CHILDREN = 8
"""Each is a process, and keeps no thread. With so many, it is more than the disk of a few topics.
"""
_LOOKED_AT_PER_TURN = 64
"""Others are heard in between: there may be thousands."""


@dataclass(slots=True)
class _History:
    """What happened to one partition so far."""

    last_run_ms: int = -1
    last_duration_ms: int = -1
    runs: int = 0
    failures: int = 0
    error: str | None = None
    failures_in_a_row: int = 0
    retry_at_ms: int = 0
    """By the clock that only goes forward."""


@dataclass(frozen=True, slots=True)
class CleanerState:
    """What there is to tell of a partition's compaction."""

    cleaned_to: int
    """Below this offset it is compacted."""
    dirty_bytes: int
    dirty_ratio: float
    last_run_ms: int
    """When the last pass ended; −1: none since the broker started."""
    last_duration_ms: int
    """How long it took."""
    runs: int
    failures: int
    error: str | None
    """Why the last pass failed, if it did."""


_METRICS: tuple[tuple[str, str, str, Callable[[CleanerState], float]], ...] = (
    ("cleaned_offset", "gauge", "Below it a partition is compacted.", lambda s: s.cleaned_to),
    ("dirty_bytes", "gauge", "What the next pass would compact.", lambda s: s.dirty_bytes),
    ("dirty_ratio", "gauge", "Its share in what would be read.", lambda s: s.dirty_ratio),
    (
        "last_run_seconds",
        "gauge",
        "When the last pass ended, in seconds since 1970; -1: none since the start.",
        lambda s: -1 if s.last_run_ms < 0 else s.last_run_ms / 1000,
    ),
    (
        "last_duration_seconds",
        "gauge",
        "How long it took; -1: none since the start.",
        lambda s: -1 if s.last_duration_ms < 0 else s.last_duration_ms / 1000,
    ),
    ("runs_total", "counter", "Passes since the start.", lambda s: s.runs),
    ("failures_total", "counter", "Passes that failed since the start.", lambda s: s.failures),
)


class Cleaner:
    def __init__(
        self,
        topics: Topics,
        storage: Storage,
        config: Config,
        compactor: Compactor,
        clock: Clock,
        monotonic: Clock,
    ) -> None:
        self._topics = topics
        self._storage = storage
        self._config = config
        self._compactor = compactor
        self._clock = clock
        self._monotonic = monotonic
        self._histories: WeakKeyDictionary[Partition, _History] = WeakKeyDictionary()
        self._under_way: dict[Partition, asyncio.Task[None]] = {}
        self._is_stopping = False

    async def clean(self) -> None:
        """Compact whatever is worth it."""
        while self._may_begin and (chosen := await self._choose()) is not None:
            await self._clean(chosen)

    @property
    def _may_begin(self) -> bool:
        is_wanted = not self._is_stopping and self._config["log.cleaner.enable"]
        children = self._compactor.children
        if children >= _MOST_HUNG_CHILDREN:
            return False
        return is_wanted and len(self._under_way) - children < SWAPS_AT_ONCE

    def stop(self) -> None:
        """The broker is stopping: what is under way ends soon, with nothing done."""
        self._is_stopping = True
        self._compactor.stop()

    async def ended(self) -> None:
        """After `stop`: nothing is under way any more."""
        await asyncio.gather(*self._under_way.values())

    def state(self, partition: Partition) -> CleanerState:
        history = self._history(partition)
        found = self._cleanable(partition, self._clock())
        return CleanerState(
            found.first_dirty,
            found.dirty_bytes,
            found.dirty_ratio,
            history.last_run_ms,
            history.last_duration_ms,
            history.runs,
            history.failures,
            history.error,
        )

    def metrics(self) -> Iterator[Metric]:
        online = [partition for partition in self._compacted() if partition.offline is None]
        states = [(p, state) for p in online if (state := self._readable_state(p)) is not None]
        for name, kind, about, value in _METRICS:
            samples = [Sample(_labels(partition), value(state)) for partition, state in states]
            yield Metric(f"kafkaesque_cleaner_{name}", kind, about, samples)

    def _readable_state(self, partition: Partition) -> CleanerState | None:
        """None: its segments cannot be read, which must not hide the figures of others."""
        try:
            return self.state(partition)
        except (OSError, KafkaError):
            return None

    def _compacted(self) -> Iterator[Partition]:
        for topic in list(self._topics):
            if topic.config.compacted:
                yield from topic.partitions

    def _history(self, partition: Partition) -> _History:
        return self._histories.setdefault(partition, _History())

    async def _choose(self) -> Partition | None:
        """The partition with the largest share of dirty bytes, of those that are worth a pass."""
        now_ms = self._clock()
        best: tuple[float, Partition | None] = -1.0, None
        for number, partition in enumerate(self._compacted()):
            if number % _LOOKED_AT_PER_TURN == 0:
                await asyncio.sleep(0)
            must_wait = self._history(partition).retry_at_ms > self._monotonic()
            if partition.offline is not None or must_wait or partition in self._under_way:
                continue
            try:
                self._seal(partition, now_ms)
                found = self._cleanable(partition, now_ms)
            except Exception as error:
                self._failed(partition, error)
                continue
            if found.is_worth_it(partition.log.config) and found.dirty_ratio > best[0]:
                best = found.dirty_ratio, partition
        return best[1]

    def _seal(self, partition: Partition, now_ms: int) -> None:
        """Nobody may append any more, and then no roll would come: the lag is a promise."""
        lag_ms = partition.log.config.max_compaction_lag_ms
        if lag_ms < NEVER_MS:
            partition.roll_if_older(now_ms - lag_ms)

    def _cleanable(self, partition: Partition, now_ms: int) -> Cleanable:
        log, limit = partition.log, partition.last_stable_offset
        if self._storage.is_durable:
            limit = min(limit, log.recovery_point)
        cleaned_to = self._storage.cleaned_offsets.get(partition.name, log.log_start_offset)
        return cleanable(log, cleaned_to, limit, now_ms)

    async def _clean(self, partition: Partition) -> None:
        """Until it is done, or hangs at the disk."""
        compacted = asyncio.Event()
        task = asyncio.create_task(self._pass(partition, compacted))
        self._under_way[partition] = task
        await compacted.wait()
        ended, _ = await asyncio.wait([task], timeout=PATIENCE_SECONDS)
        for each in ended:
            # What is no failure of this partition alone ends the cleaner, too.
            each.result()

    async def _pass(self, partition: Partition, compacted: asyncio.Event) -> None:
        try:
            await self._try(partition, compacted.set)
        finally:
            compacted.set()
            del self._under_way[partition]

    async def _try(self, partition: Partition, compacted: Callable[[], None]) -> None:
        began_ms = self._monotonic()
        try:
            work = self._work(partition)
            done = await self._compactor.compact(work, compacted) if work is not None else None
            if done is None:
                self._try_later(partition)
            else:
                await self._storage.note_cleaned(partition, done.cleaned_to)
                self._succeeded(partition, done, began_ms)
        except Exception as error:
            if not self._is_stopping:
                self._failed(partition, error)

    def _work(self, partition: Partition) -> Work | None:
        """None: what there was to do a moment ago is gone."""
        # It may have been deleted since it was chosen, and its directory be another's.
        if partition.offline is not None:
            return None
        found = self._cleanable(partition, self._clock())
        if not found.dirty_bytes:
            return None
        start, end = found.segments[0].base_offset, found.segments[-1].next_offset
        rules = Rules(
            first_dirty=found.first_dirty,
            now_ms=self._clock(),
            delete_retention_ms=partition.log.config.delete_retention_ms,
            max_keys=max(self._config["log.cleaner.dedupe.buffer.size"] // BYTES_PER_KEY, 1),
            aborted=partition.packed_aborted(start, end),
            # As they are at this moment, which is also that of the segments.
            producers=partition.producers.states(),
        )
        return Work(partition, found, rules, partition.log.log_start_offset, partition.reopened)

    def _succeeded(self, partition: Partition, done: Done, began_ms: int) -> None:
        history = self._history(partition)
        history.last_run_ms = self._clock()
        history.last_duration_ms = self._monotonic() - began_ms
        history.runs += 1
        history.error = None
        history.failures_in_a_row = 0
        figures = done.figures
        if figures.unreadable:
            logger.warning(
                "%s: %d batches cannot be read, and stay as they are",
                partition.name,
                figures.unreadable,
            )
        logger.info(
            "%s is compacted up to %d: %d of %d records are left",
            partition.name,
            done.cleaned_to,
            figures.records_kept,
            figures.records,
        )

    def _failed(self, partition: Partition, error: Exception) -> None:
        history = self._history(partition)
        history.failures += 1
        history.error = str(error) or repr(error)
        self._try_later(partition)
        is_expected = isinstance(error, CompactionError | KafkaError | OSError)
        logger.error(
            "%s was not compacted: %s",
            partition.name,
            history.error,
            exc_info=None if is_expected else error,
        )

    def _try_later(self, partition: Partition) -> None:
        history = self._history(partition)
        doublings = min(history.failures_in_a_row, _MAX_DOUBLINGS)
        backoff_ms = self._config["log.cleaner.backoff.ms"] << doublings
        history.retry_at_ms = self._monotonic() + backoff_ms
        history.failures_in_a_row += 1


def _labels(partition: Partition) -> str:
    return f'{{topic="{partition.name.topic}",partition="{partition.name.partition}"}}'
