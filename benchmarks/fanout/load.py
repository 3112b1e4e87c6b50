"""What is sent: a value that any client can find in whatever a server wraps it in, and how often.

    value  ~@fan~ | 16 hex digits: ns of the monotonic clock | 8: number of the key | 8: round | …

The monotonic clock is one for all processes of a machine. The value is plain ASCII without quotes,
so that it looks the same within JSON. A round sends one message to each key, spread over a period.
Above: producer.py sends it, clients.py asks for it; drain.c finds it.
"""

from dataclasses import asdict, dataclass
from typing import Any

MARK = b"~@fan~"
PARTITIONS = 12


def key(number: int) -> str:
    return f"k{number:06d}"


def value(number: int, round_number: int, now_ns: int, size: int) -> bytes:
    return (MARK + b"%016x%08x%08x" % (now_ns, number, round_number)).ljust(size, b".")


@dataclass(frozen=True, slots=True)
class Load:
    """`tick_ms`: how often the producer wakes up, and sends what is due."""

    keys: int = 10_000
    size: int = 512
    period_s: float = 1.0
    tick_ms: float = 5.0

    @property
    def per_second(self) -> float:
        return self.keys / self.period_s

    def due(self, elapsed_s: float) -> int:
        """How many messages of the rounds so far should have been sent."""
        return int(elapsed_s * self.per_second)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Rounds:
    """Which rounds are for warming up, and which count: `first` to `last`."""

    warm_up: int = 3
    counted: int = 10

    @property
    def first(self) -> int:
        return self.warm_up

    @property
    def last(self) -> int:
        return self.warm_up + self.counted - 1
