"""How the partitions of an app stand: what `app.status` tells.

Above: app.py, lane.py.
"""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    IDLE = "idle"
    HANDLING = "handling"
    RETRYING = "retrying"
    """Its handler failed and will be called again after a while."""
    DEAD_LETTERING = "dead-lettering"
    STOPPED = "stopped"
    """Its handler failed for good, and `on_failure` is "stop": nothing goes on until a restart."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """`position` is the first offset that is not done; None if no event has come to us yet."""

    group: str
    topic: str
    partition: int
    state: State
    position: int | None
    unfinished: int
    dead_letters: int
    last_error: str | None

    def __str__(self) -> str:
        at = "" if self.position is None else f" @{self.position}"
        why = f" ({self.last_error})" if self.state in _TROUBLED else ""
        return f"{self.group}: {self.topic}/{self.partition}{at} {self.state}{why}"


_TROUBLED = (State.RETRYING, State.DEAD_LETTERING, State.STOPPED)
