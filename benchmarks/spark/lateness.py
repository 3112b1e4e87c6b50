"""How long batches took, and how late records were: from Spark's progress reports and a flow. Pure.

A batch begins at its report's `timestamp` and takes its `triggerExecution`, from the question for
new records to the commit in the checkpoint. Of it, `walCommit` and `commitOffsets` are spent on the
checkpoint's files. The records of a batch are out when it ends, unless somebody has seen them
elsewhere.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from kafkaesque.pipelines.source.offsets import offsets_of

Offsets: TypeAlias = Mapping[int, int]
"""The next offset of each partition."""
Report: TypeAlias = Mapping[str, Any]


class Out(NamedTuple):
    """When a record was out: seconds, as time.time() has them."""

    partition: int
    offset: int
    moment_s: float


@dataclass(frozen=True, slots=True)
class Span:
    """What is measured: records that were written in it, and batches that brought them."""

    begun_s: float
    ended_s: float

    def __contains__(self, moment_s: float) -> bool:
        return self.begun_s <= moment_s < self.ended_s


@dataclass(frozen=True, slots=True)
class Batch:
    begun_s: float
    duration_ms: int
    checkpoint_ms: int
    start: Offsets
    end: Offsets

    @property
    def ended_s(self) -> float:
        return self.begun_s + self.duration_ms / 1000

    @property
    def tasks(self) -> int:
        """Partitions with records: each is read by a task of its own."""
        return sum(end > self.start.get(partition, 0) for partition, end in self.end.items())


@dataclass(frozen=True, slots=True)
class Lateness:
    """Of one query of one variant, over all rounds."""

    batches_ms: list[float] = field(default_factory=list)
    checkpoints_ms: list[float] = field(default_factory=list)
    records_ms: list[float] = field(default_factory=list)
    tasks: list[int] = field(default_factory=list)
    """Of each batch."""

    def add(self, other: "Lateness") -> None:
        self.batches_ms.extend(other.batches_ms)
        self.checkpoints_ms.extend(other.checkpoints_ms)
        self.records_ms.extend(other.records_ms)
        self.tasks.extend(other.tasks)


def lateness(
    batches: Sequence[Batch],
    outs: Iterable[Out],
    written_s: Callable[[int, int], float],
    span: Span,
) -> Lateness:
    """`written_s` says of partition and offset when the record was written."""

    def is_counted(out: Out) -> bool:
        return written_s(out.partition, out.offset) in span

    counted = [each for each in batches if any(map(is_counted, outs_of([each])))]
    waits_s = (
        out.moment_s - written_s(out.partition, out.offset) for out in filter(is_counted, outs)
    )
    return Lateness(
        [each.duration_ms for each in counted],
        [each.checkpoint_ms for each in counted],
        [wait_s * 1000 for wait_s in waits_s],
        [each.tasks for each in counted],
    )


def batches_of(reports: Iterable[Report]) -> list[Batch]:
    """Those with rows, but the first of a query, which has no start."""
    found = (each for each in reports if each["numInputRows"])
    return [_batch(each) for each in found if each["sources"][0]["startOffset"] != "null"]


def outs_of(batches: Iterable[Batch]) -> Iterator[Out]:
    for batch in batches:
        for partition, end in batch.end.items():
            for offset in range(batch.start.get(partition, 0), end):
                yield Out(partition, offset, batch.ended_s)


def end_of(report: Report) -> Offsets:
    """Of a query of one topic; both sources write {"ticks": {"0": 12}}, and ours some more."""
    return _offsets(report["sources"][0]["endOffset"])


def p95(values_ms: Sequence[float]) -> float:
    """19 of 20 are at or below it."""
    return sorted(values_ms)[-(-len(values_ms) * 19 // 20) - 1]


def _batch(report: Report) -> Batch:
    begun_s = datetime.fromisoformat(report["timestamp"]).timestamp()
    took_ms = report["durationMs"]
    return Batch(
        begun_s,
        took_ms["triggerExecution"],
        took_ms["walCommit"] + took_ms["commitOffsets"],
        _offsets(report["sources"][0]["startOffset"]),
        end_of(report),
    )


def _offsets(text: str) -> Offsets:
    return {place.partition: offset for place, offset in offsets_of(json.loads(text) or {}).items()}
