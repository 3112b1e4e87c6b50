"""Compaction of segments in memory: the same rules, and lists of batches in place of files.

There is no child process: it would have to be given the log first. So the broker takes the steps of
`compact_memory` on its event loop, a few at a time, between other work.
Above: broker/cleaner.py. Below: compaction.py, memory.py.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from kafkaesque.log.compaction import Compaction, Figures, Rules
from kafkaesque.log.config import LogConfig
from kafkaesque.log.memory import MemorySegment
from kafkaesque.records.batch import read_header


@dataclass(slots=True)
class MemoryResult:
    cleaned_to: int
    replacements: list[tuple[list[MemorySegment], MemorySegment]]
    """Old segments, and the new one for each few of them, in order. Unchanged ones have none."""
    ended_aborts: list[int]
    figures: Figures


@dataclass(slots=True)
class _Rest:
    """What is left of one or more old segments, without the mark of where they end."""

    old: list[MemorySegment]
    new: MemorySegment
    end_mark: bytes | None
    is_changed: bool

    @property
    def size(self) -> int:
        return self.new.size + len(self.end_mark or b"")

    def add(self, rest: "_Rest") -> None:
        self.old += rest.old
        self.new.absorb(rest.new)
        self.end_mark = rest.end_mark
        self.is_changed = True

    def finished(self) -> tuple[list[MemorySegment], MemorySegment]:
        if self.end_mark is not None:
            self.new.append(self.end_mark, read_header(self.end_mark), 0)
        return self.old, self.new


def compact_memory(
    segments: Sequence[MemorySegment], rules: Rules, config: LogConfig
) -> Generator[None, None, MemoryResult]:
    """A pass, in steps of a batch."""
    compaction = Compaction(rules, segments)
    yield from compaction.map_keys()
    rests: list[_Rest] = []
    for segment in segments:
        if segment.base_offset >= compaction.mapped_end:
            break
        new = MemorySegment(segment.base_offset)
        for kept in compaction.clean(segment):
            if kept is not None:
                new.append(kept, read_header(kept), 0)
            yield
        rest = _Rest([segment], new, compaction.end_mark, compaction.is_changed)
        if rests and rests[-1].new.size + rest.size <= config.segment_bytes:
            rests[-1].add(rest)
        else:
            rests.append(rest)
    replacements = [rest.finished() for rest in rests if rest.is_changed]
    cleaned_to, ended = compaction.mapped_end, compaction.ended_aborts
    return MemoryResult(cleaned_to, replacements, ended, compaction.figures)
