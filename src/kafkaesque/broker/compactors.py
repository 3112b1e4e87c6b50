"""Passes of compaction, beside the event loop: how one is run, and how its result is put in place.

Segments in files are compacted by a child process (log/compact.py): Python that is busy for a
minute would cost the loop milliseconds, even in a thread. The loop only swaps the result in. The
child is given one request, says every second that it goes on, and answers once; the pipe that the
request came by stays open, and its end is the child's too, so that it never outlives the broker. It
is given the directory as an open file, not as a path: that would be another topic's once this one
is deleted and made anew.
Segments in memory are compacted on the loop, a millisecond at a time and two for others: a child
would have to be sent the whole log and send it back. So are files that only this process can see,
those of tests.
Above: cleaner.py. Below: partition.py, log/.
"""

import asyncio
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from kafkaesque.broker.partition import Partition
from kafkaesque.errors import KafkaError
from kafkaesque.log.cleanable import Cleanable
from kafkaesque.log.compact import Request, Result, compact
from kafkaesque.log.compaction import Figures, Rules
from kafkaesque.log.files import Files
from kafkaesque.log.log import Segment
from kafkaesque.log.memory import MemorySegment
from kafkaesque.log.memory_compaction import compact_memory
from kafkaesque.log.store import Cleaned

T = TypeVar("T")

SWAPS_AT_ONCE = 2
"""Where the disk hangs, each keeps a thread."""
_SLICE_SECONDS = 0.001
_PAUSE_SECONDS = 0.002
_READ_BYTES = 1 << 16
_MARKERS_IN_A_TURN = 250
_LOOK_SECONDS = 0.5
"""How often somebody sees whether a child still has something to do."""
_SILENT_LOOKS = 20
"""After so many without a sign of life, its disk hangs."""


class CompactionError(Exception):
    """A pass came to nothing; it may be tried again."""


@dataclass(slots=True)
class Work:
    """A pass over one partition, as it was when the pass began."""

    partition: Partition
    cleanable: Cleanable
    rules: Rules
    log_start_offset: int
    reopened: int

    @property
    def is_void(self) -> bool:
        """Whether the log has become another since: deleted, cut, not to be compacted. One that has
        come back after a failed flush may know again what the pass has let it forget.
        """
        partition = self.partition
        return (
            partition.offline is not None
            or partition.reopened != self.reopened
            or partition.log.log_start_offset != self.log_start_offset
            or not partition.config.compacted
        )

    def take(self, cleaned: Cleaned) -> list[Segment]:
        """The segments that `cleaned` was made of. Nobody else here keeps hold of them."""
        segments = self.cleanable.segments
        end = sum(segment.base_offset < cleaned.next_offset for segment in segments)
        first = sum(segment.base_offset < cleaned.base_offset for segment in segments)
        taken = segments[first:end]
        del segments[:end]
        return taken


@dataclass(frozen=True, slots=True)
class Done:
    """A pass that has brought the log up to here."""

    cleaned_to: int
    figures: Figures


class Compactor(Protocol):
    async def compact(self, work: Work, compacted: Callable[[], None]) -> Done | None:
        """None: the log has changed meanwhile, and nothing was done, or only the first part.
        `compacted` is called when all that is left waits for the disk alone: to put it in place, or
        where that hangs before. Perhaps more than once.
        """

    @property
    def children(self) -> int:
        """Processes that are at it."""

    def stop(self) -> None:
        """End what is under way, and begin nothing more."""


class Runner(Protocol):
    async def run(
        self, request: Request, is_void: Callable[[], bool], hangs: Callable[[], None]
    ) -> Result:
        """`is_void`: nobody wants the result any more, and the pass may end. `hangs` is called when
        it waits for a disk that does not answer.
        """

    @property
    def children(self) -> int: ...

    def stop(self) -> None: ...


class DiskCompactor:
    def __init__(self, data_dir: str, runner: Runner) -> None:
        self._data_dir = data_dir
        self._runner = runner
        # Several children that have hung may end at the same time.
        self._swaps = asyncio.Semaphore(SWAPS_AT_ONCE)

    @property
    def children(self) -> int:
        return self._runner.children

    async def compact(self, work: Work, compacted: Callable[[], None]) -> Done | None:
        if work.partition.log.unfinished_swap is not None:
            compacted()
            async with self._swaps:
                await work.partition.finish_swap()
            return None
        is_in_place = False
        try:
            result = await self._run(work, compacted)
            async with self._swaps:
                is_in_place = await self._swap_in(work, result)
        except CompactionError:
            if not work.is_void:
                raise
        finally:
            if not is_in_place:
                async with self._swaps:
                    await work.partition.remove_cleaned()
        return Done(result.cleaned_to, result.figures) if is_in_place else None

    async def _run(self, work: Work, compacted: Callable[[], None]) -> Result:
        try:
            request = _request(self._data_dir, work)
            return await self._runner.run(request, lambda: work.is_void, compacted)
        finally:
            # Also where the child has failed: its disk may be the reason, and hang.
            compacted()

    async def _swap_in(self, work: Work, result: Result) -> bool:
        """In order: a tombstone must not go while what it deleted is still there."""
        if result.ended_aborts and not work.is_void:
            # For good, before their markers go: a reader who is told of one looks for its marker,
            # and hides all until then.
            await _forget_aborted(work.partition, result.ended_aborts)
            await work.partition.checkpoint()
        for cleaned in result.segments:
            if work.is_void:
                return False
            if not await work.partition.swap(work.take(cleaned), cleaned):
                return False
        return True

    def stop(self) -> None:
        self._runner.stop()


async def _forget_aborted(partition: Partition, markers: Sequence[int]) -> None:
    for start in range(0, len(markers), _MARKERS_IN_A_TURN):
        if start:
            await asyncio.sleep(0)
        partition.forget_aborted(markers[start : start + _MARKERS_IN_A_TURN])


def _request(data_dir: str, work: Work) -> Request:
    config = work.partition.log.config
    return Request(
        directory=f"{data_dir}/{work.partition.name}",
        segments=tuple((s.base_offset, s.next_offset, s.size) for s in work.cleanable.segments),
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        rules=work.rules,
    )


class ChildProcess:
    """Runs each request in a process of its own."""

    def __init__(self, niceness: int = 0) -> None:
        self._niceness = niceness
        self.processes: set[Process] = set()
        self._is_stopped = False

    @property
    def children(self) -> int:
        return len(self.processes)

    async def run(
        self, request: Request, is_void: Callable[[], bool], hangs: Callable[[], None]
    ) -> Result:
        process = await _start(request.directory, self._niceness)
        self.processes.add(process)
        if self._is_stopped:
            process.kill()
        silent_looks = 0

        def hear() -> None:
            nonlocal silent_looks
            silent_looks = 0

        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        answer = asyncio.gather(
            _read(process.stdout, hear),
            process.stderr.read(),
            _feed(process.stdin, replace(request, directory=".")),
        )
        try:
            while not (await asyncio.wait({answer}, timeout=_LOOK_SECONDS))[0]:
                if is_void() and process.returncode is None:
                    process.kill()
                silent_looks += 1
                if silent_looks == _SILENT_LOOKS:
                    hangs()
            output, complaint, _ = await answer
            code = await process.wait()
        finally:
            answer.cancel()
            process.stdin.close()
            self.processes.discard(process)
        if code:
            last_line = complaint.decode(errors="replace").strip().rpartition("\n")[2]
            raise CompactionError(last_line or f"the child ended with {code}")
        return Result.from_json(output)

    def stop(self) -> None:
        self._is_stopped = True
        for process in self.processes:
            if process.returncode is None:
                process.kill()


async def _start(directory: str, niceness: int) -> Process:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "kafkaesque.log.compact"),
            *(str(descriptor), str(niceness)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=_environment(),
            pass_fds=(descriptor,),
        )
    finally:
        os.close(descriptor)


async def _read(stdout: asyncio.StreamReader, hear: Callable[[], None]) -> bytes:
    """All of it; `hear` is called when some of it comes."""
    parts = []
    while part := await stdout.read(_READ_BYTES):
        hear()
        parts.append(part)
    return b"".join(parts)


async def _feed(stdin: asyncio.StreamWriter, request: Request) -> None:
    """A part at a time, as the child reads them. Why it does not, its exit code says."""
    with suppress(ConnectionError):
        for part in request.parts():
            stdin.write(part)
            await stdin.drain()


def _environment() -> dict[str, str]:
    """Ours, with the way to this very package: it may not be installed."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


class InSlices:
    """Takes the steps of a pass on the event loop, and leaves it time for others."""

    children = 0

    def __init__(self) -> None:
        self._is_stopped = False

    async def all(self, steps: Generator[None, None, T], is_void: Callable[[], bool]) -> T:
        until = time.perf_counter() + _SLICE_SECONDS
        while not self._is_stopped:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            if time.perf_counter() > until:
                await asyncio.sleep(_PAUSE_SECONDS)
                if is_void():
                    raise CompactionError("the log has changed meanwhile")
                until = time.perf_counter() + _SLICE_SECONDS
        raise CompactionError("the broker is stopping")

    def stop(self) -> None:
        self._is_stopped = True


class FilesInSlices(InSlices):
    """For files that a child could not see."""

    def __init__(self, files: Files) -> None:
        super().__init__()
        self._files = files

    async def run(
        self, request: Request, is_void: Callable[[], bool], hangs: Callable[[], None]
    ) -> Result:
        try:
            return await self.all(compact(self._files, request), is_void)
        except (OSError, KafkaError) as error:
            raise CompactionError(str(error)) from error


class MemoryCompactor(InSlices):
    async def compact(self, work: Work, compacted: Callable[[], None]) -> Done | None:
        segments = [s for s in work.cleanable.segments if isinstance(s, MemorySegment)]
        log = work.partition.log
        try:
            steps = compact_memory(segments, work.rules, log.config)
            result = await self.all(steps, lambda: work.is_void)
        except CompactionError:
            if not work.is_void:
                raise
        compacted()
        if not work.is_void:
            await _forget_aborted(work.partition, result.ended_aborts)
        if work.is_void:
            return None
        for old, new in result.replacements:
            log.replace(old, new)
        return Done(result.cleaned_to, result.figures)
