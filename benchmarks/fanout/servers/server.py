"""What a server of the race is: how it is started on a topic, and what its clients send first.

A variant is a column of the table. Its `serve` starts all of its processes and says their ids by
part: the server itself, and the bridge that brings it Kafka's records where it cannot fetch them.
Both count. Above: roster.py, the list of variants.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fanout.accounting import Cpu, Memory, cpu, family, memory
from benchmarks.fanout.clients import Step


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a server runs: the broker, the topic that its clients want, a directory of its own."""

    bootstrap: str
    topic: str
    directory: Path


@dataclass(frozen=True, slots=True)
class Served:
    """`port` is where clients connect; `parts` are the first processes, by what they are."""

    port: int
    parts: Mapping[str, int]

    def cpu(self) -> dict[str, Cpu]:
        return {part: cpu(family(pid)) for part, pid in self.parts.items()}

    def memory(self) -> Memory:
        return memory(pid for part in self.parts.values() for pid in family(part))


Serve = Callable[[Setting], AbstractContextManager[Served]]
Greet = Callable[[str, int, int], Sequence[Step]]


@dataclass(frozen=True, slots=True)
class Variant:
    """`greet` takes the topic, the number of a key, and the port."""

    name: str
    meaning: str
    serve: Serve
    greet: Greet
    settle_s: float = 0.0
    """How long a subscription takes that is not acknowledged."""
