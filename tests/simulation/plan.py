"""A plan: all that will happen in a run, as plain data, drawn before it begins.

Steps are what clients do, faults what the disk does to the broker, crashes how its lives end. Each
stands for itself: a plan with any of them left out is a plan too, and shrink.py lives by that.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """At a time, or when the actor has done what came before, it does this."""

    at: float
    actor: str
    action: str
    args: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"step  {self.at:8.3f} {self.actor} {self.action} {self.args}"


@dataclass(frozen=True, slots=True)
class Fault:
    """From `at` to `until`, file calls fail, as often as `times` says.

    kind: eio, full (no room, for any file), short (part of a write, then eio), slow, late (slow,
    then eio), descriptors (no more of them).
    operations: of write, sync, read, open, create, rename, remove, truncate, sync_directory; slow
    threads are `thread`.
    path: a part of the paths that are meant, or of the names of the threads' jobs; the empty one is
    in all of them.
    """

    at: float
    until: float
    kind: str
    operations: tuple[str, ...]
    path: str
    times: int

    def __str__(self) -> str:
        calls = ",".join(self.operations)
        when = f"{self.at:8.3f}…{self.until:.3f}"
        return f"fault {when} {self.kind} in {calls} of '{self.path}' ×{self.times}"


@dataclass(frozen=True, slots=True)
class Crash:
    """kind: cut (the power goes), kill (the process does), stop (it is asked to).

    At a time, or, with `calls`, at that file call after it.
    """

    at: float
    kind: str
    calls: int = 0

    def __str__(self) -> str:
        return f"crash {self.at:8.3f} {self.kind} after {self.calls} calls"


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    in_memory: bool
    has_neighbour: bool
    settings: tuple[tuple[str, str], ...]
    steps: tuple[Step, ...]
    faults: tuple[Fault, ...]
    crashes: tuple[Crash, ...]
    descriptors: int | None = None
    """How many files the broker may hold open. None: more than it ever does."""

    def __str__(self) -> str:
        head = f"plan of seed {self.seed}" + ", in memory" * self.in_memory
        head += ", beside another broker" * self.has_neighbour
        head += f", {self.descriptors} descriptors" * bool(self.descriptors)
        parts: list[Step | Fault | Crash] = [*self.steps, *self.faults, *self.crashes]
        return "\n".join([head, *map(str, sorted(parts, key=lambda part: part.at))])
