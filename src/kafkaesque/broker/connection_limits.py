"""How many clients may be connected, in all and from one address (Kafka's `max.connections` and
`max.connections.per.ip`). Who comes when there is no room is sent away, with a line in the log.

A connection is an open file, and so is a partition: whatever the settings say, connections leave
half of the files that the process may open to the log.
"""

import logging
import resource
from collections import Counter

logger = logging.getLogger(__name__)

_LOGGED_EVERY = 1000


class ConnectionLimits:
    def __init__(self, maximum: int, per_address: int) -> None:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        half = files // 2 if files != resource.RLIM_INFINITY else maximum
        self._maximum = min(maximum, max(half, 1))
        self._per_address = per_address
        self._by_address: Counter[str] = Counter()
        self._count = 0
        self.refused = 0

    def enter(self, address: str) -> bool:
        """Whether there is room for one more from there; it has to `leave` again."""
        reason = self._refusal(address)
        if reason is None:
            self._count += 1
            self._by_address[address] += 1
            return True
        if self.refused % _LOGGED_EVERY == 0:
            logger.warning("refusing connections, now one from %s: %s", address, reason)
        self.refused += 1
        return False

    def _refusal(self, address: str) -> str | None:
        if self._count >= self._maximum:
            return f"{self._count} are open, and no more are let in (max.connections, open files)"
        if self._by_address[address] >= self._per_address:
            return f"it has {self._per_address} already (max.connections.per.ip)"
        return None

    def leave(self, address: str) -> None:
        self._count -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
