"""A log against a Python list: whatever is done to it, it reads like the list.

The same machine runs on three stores: files on a forgetting disk, real files, and memory. On disk
it also stops clean, stops at once, and loses power.
"""

import shutil
import tempfile
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.crash.forgetting import ForgettingFiles
from tests.tiers import examples

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import Files, OsFiles
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.memory import MemorySegments
from kafkaesque.records.batch import Codec, Record, batches, new_batch, read_header, records

FIRST_TIMESTAMP = 1000


class Model:
    """What a log is: batches in a list."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.start = 0
        self.end = 0

    def append(self, batch: bytes) -> None:
        self.batches.append(batch)
        self.end = read_header(batch).next_offset

    def truncate(self, offset: int) -> None:
        self.batches = [b for b in self.batches if read_header(b).last_offset < offset]
        self.end = max(self._ends(), default=self.start)
        self.end = max(self.end, self.start)

    def _ends(self) -> list[int]:
        return [read_header(batch).next_offset for batch in self.batches]

    def from_offset(self, offset: int, limit: int) -> list[bytes]:
        """What a reader may get, were it to read on and on."""
        headers = [(read_header(batch), batch) for batch in self.batches]
        return [b for h, b in headers if h.last_offset >= offset and h.base_offset < limit]

    def records(self, limit: int) -> list[Record]:
        everything = [record for batch in self.batches for record in records(batch)]
        return [record for record in everything if self.start <= record.offset < limit]


class LogMachine(RuleBasedStateMachine):
    """Common to all stores; `_open` says where the log lies."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.clock = FIRST_TIMESTAMP
        self.config = LogConfig(segment_bytes=900, segment_ms=300, index_interval_bytes=120)
        self.log: Log

    def _open(self, *, clean: bool) -> Log:
        raise NotImplementedError

    @initialize()
    def open(self) -> None:
        self.log = self._open(clean=False)

    @rule(
        ages=st.lists(st.integers(-60, 60), min_size=1, max_size=5),
        size=st.sampled_from([0, 5, 60, 400]),
        codec=st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4]),
    )
    def append(self, ages: list[int], size: int, codec: Codec) -> None:
        self.clock += 20
        base = self.log.end_offset
        batch_records = [
            Record(base + i, max(1, self.clock + age), None, bytes([i]) * size)
            for i, age in enumerate(ages)
        ]
        batch = bytes(new_batch(batch_records, base_offset=base, codec=codec))
        self.log.append(batch, read_header(batch), self.clock)
        self.model.append(batch)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        job = self.log.begin_flush()
        if job is not None:
            job.run()
            self.log.end_flush(job)
        assert self.log.flushed_offset == self.model.end

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offset = self.model.start + round(part * (self.model.end - self.model.start))
        self.log.truncate(offset)
        self.model.truncate(offset)

    @rule(part=st.floats(0, 0.5))
    def delete_before(self, part: float) -> None:
        offset = self.model.start + round(part * (self.log.flushed_offset - self.model.start))
        offset = max(offset, self.model.start)
        gone = self.log.delete_before(offset)
        self._persist_start(offset)
        self.log.remove_segments(gone)
        self.model.start = offset

    def _persist_start(self, offset: int) -> None:
        pass

    @rule(
        part=st.floats(0, 1),
        limit_part=st.floats(0, 1),
        max_bytes=st.sampled_from([0, 1, 100, 300, 10_000]),
        min_one=st.booleans(),
    )
    def read(self, part: float, limit_part: float, max_bytes: int, min_one: bool) -> None:
        model = self.model
        offset = model.start + round(part * (model.end - model.start))
        limit = self._edge(limit_part)
        data = bytes(self.log.read(offset, max_bytes, limit, min_one=min_one).read())
        possible = model.from_offset(offset, limit)
        got = [data[at : at + header.size] for at, header in batches(data)]
        assert b"".join(got) == data, "whole batches only"
        assert got == possible[: len(got)]
        if possible and (min_one or len(possible[0]) <= max_bytes):
            assert got
        assert len(data) <= max_bytes or (min_one and len(got) == 1)

    def _edge(self, part: float) -> int:
        """Where a batch ends: limits are always that."""
        edges = [read_header(batch).next_offset for batch in self.model.batches]
        return edges[round(part * (len(edges) - 1))] if edges else self.model.end

    @rule(past=st.integers(1, 5))
    def read_outside(self, past: int) -> None:
        for offset in (self.model.start - past, self.model.end + past):
            with pytest.raises(KafkaError) as refused:
                self.log.read(offset, 100, self.model.end)
            assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE

    @rule(age=st.integers(-400, 100), limit_part=st.floats(0, 1))
    def find_timestamp(self, age: int, limit_part: float) -> None:
        timestamp = self.clock + age
        limit = self._edge(limit_part)
        known = self.model.records(limit)
        first = next((r for r in known if r.timestamp >= timestamp), None)
        found = self.log.offset_for_timestamp(timestamp, limit)
        assert found == ((first.offset, first.timestamp) if first else None)
        newest = max(known, key=lambda record: record.timestamp, default=None)
        found = self.log.offset_of_max_timestamp(limit)
        assert found == ((newest.offset, newest.timestamp) if newest else None)

    @rule(part=st.floats(0, 1))
    def walk_headers(self, part: float) -> None:
        offset = self.model.start + round(part * (self.model.end - self.model.start))
        expected = self.model.from_offset(offset, self.model.end)
        assert list(self.log.headers(offset)) == [read_header(batch) for batch in expected]

    @invariant()
    def the_edges_agree(self) -> None:
        if hasattr(self, "log"):
            assert self.log.log_start_offset == self.model.start
            assert self.log.end_offset == self.model.end
            assert self.log.flushed_offset <= self.log.end_offset

    def teardown(self) -> None:
        """However reads and changes were mixed: a whole read at the end."""
        if not hasattr(self, "log"):
            return
        offset, found = self.model.start, b""
        while offset < self.model.end:
            data = bytes(self.log.read(offset, 700, self.model.end).read())
            offset = [header.next_offset for _, header in batches(data)][-1]
            found += data
        assert found == b"".join(self.model.from_offset(self.model.start, self.model.end))


class MemoryLogMachine(LogMachine):
    def _open(self, *, clean: bool) -> Log:
        return Log.open(MemorySegments(), self.config)


class DiskLogMachine(LogMachine):
    """Adds checkpoints, and stops of every kind."""

    files: Files
    directory: str

    def __init__(self) -> None:
        super().__init__()
        self.log_start_offset = 0
        self.recovery_point = 0

    def _open(self, *, clean: bool) -> Log:
        log = Log.open(
            DiskSegments(self.files, self.directory),
            self.config,
            log_start_offset=self.log_start_offset,
            recovery_point=self.recovery_point,
            clean=clean,
        )
        assert log.recovery.cut_bytes == 0
        return log

    def _persist_start(self, offset: int) -> None:
        self.log_start_offset = offset

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        # The law of truncations: a recovery point at or below first.
        self.recovery_point = self.model.start
        super().truncate(part)

    @rule()
    def checkpoint(self) -> None:
        job = self.log.checkpoint()
        if job is not None:
            job.run()
            self.log.end_checkpoint(job)
            self.recovery_point = job.offset

    @rule()
    def stop_clean(self) -> None:
        self.log.close(clean=True)
        self.recovery_point = self.log.end_offset
        self.log = self._open(clean=True)
        assert self.log.recovery.scanned_bytes == 0
        assert self.log.recovery.sentences == []

    @rule()
    def stop_at_once(self) -> None:
        self.log.close(clean=False)
        self.log = self._open(clean=False)
        assert self.log.recovery.sentences == []


class RealLogMachine(DiskLogMachine):
    def __init__(self) -> None:
        super().__init__()
        self.files = OsFiles()
        self.directory = tempfile.mkdtemp()

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.directory)


class ForgettingLogMachine(DiskLogMachine):
    directory = "/log"

    def __init__(self) -> None:
        super().__init__()
        self.machine = ForgettingFiles()
        self.machine.make_directory(self.directory)
        self.machine.sync_directory("/")
        self.files = self.machine

    @precondition(lambda self: self.log.flushed_offset == self.model.end)
    @rule(seed=st.integers(0, 1 << 20))
    def lose_power(self, seed: int) -> None:
        self.machine = self.files = self.machine.cut(Random(seed))
        self.log = self._open(clean=False)

    @rule(is_cold=st.booleans())
    def change_the_cache(self, is_cold: bool) -> None:
        self.machine.is_cold = is_cold


@pytest.mark.parametrize(
    ("machine", "most"),
    [(MemoryLogMachine, 100), (ForgettingLogMachine, 200), (RealLogMachine, 40)],
    ids=["memory", "forgetting disk", "real disk"],
)
def test_a_log_reads_like_a_list(machine: type[LogMachine], most: int) -> None:
    limits = settings(
        max_examples=examples(most),
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=limits)
