"""How many may come, and how often: connections in all, per address, per token and per second;
messages that one connection may send.

A worker counts for itself. It takes its share of the total and of the new connections per second,
for the kernel spreads connections evenly; the limits per address and per token hold in each
worker. Addresses and tokens with no connection are forgotten. 0 is no limit.
Above: server.py. Below: config.py.
"""

from collections.abc import Callable

from kafkaesque.gateway.access import Grant
from kafkaesque.gateway.fanout.config import FanoutConfig


class RateLimit:
    """A bucket that fills with `per_second` and holds `burst`: each message takes one out."""

    __slots__ = ("_at", "_burst", "_level", "_per_second")

    def __init__(self, per_second: float, burst: float, now: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._level = burst
        self._at = now

    def allows(self, now: float) -> bool:
        self._fill(now)
        if self._level < 1:
            return False
        self._level -= 1
        return True

    def _fill(self, now: float) -> None:
        # A clock that was read earlier must not empty it.
        passed = max(0.0, now - self._at)
        self._level = min(self._burst, self._level + passed * self._per_second)
        self._at += passed


class Limits:
    """`admit` gives the reason of a refusal, or None; who was admitted must `leave` once."""

    def __init__(self, config: FanoutConfig, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._most = _share(config.max_connections, config.workers)
        self._most_per_address = config.max_connections_per_address
        self._requests_per_second = config.max_requests_per_second
        self._request_burst = max(1.0, config.max_requests_per_second, config.max_subscriptions)
        new_per_second = config.max_new_per_second / config.workers
        self._new = (
            RateLimit(new_per_second, max(1.0, new_per_second), clock()) if new_per_second else None
        )
        self._by_address: dict[str, int] = {}
        self._by_token: dict[str, int] = {}
        self.connections = 0

    def admit(self, address: str) -> str | None:
        if self._most and self.connections >= self._most:
            return "too many connections: try again later"
        here = self._by_address.get(address, 0)
        if self._most_per_address and here >= self._most_per_address:
            return f"too many connections from your address: it may have {self._most_per_address}"
        if self._new and not self._new.allows(self._clock()):
            return "too many new connections at once: try again in a moment"
        self._by_address[address] = here + 1
        self.connections += 1
        return None

    def leave(self, address: str) -> None:
        self.connections -= 1
        _take_one(self._by_address, address)

    def admit_token(self, grant: Grant) -> str | None:
        """After `admit`, once the token is known."""
        count = self._by_token.get(grant.name, 0)
        if grant.max_connections and count >= grant.max_connections:
            return f"too many connections with your token: it may have {grant.max_connections}"
        self._by_token[grant.name] = count + 1
        return None

    def leave_token(self, grant: Grant) -> None:
        _take_one(self._by_token, grant.name)

    def requests(self) -> RateLimit | None:
        """For a new connection, which may make all its subscriptions at once; None: no limit."""
        if not self._requests_per_second:
            return None
        return RateLimit(self._requests_per_second, self._request_burst, self._clock())


def _share(total: int, workers: int) -> int:
    return -(-total // workers)


def _take_one(counts: dict[str, int], name: str) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]
