"""How many clients may be connected, in all and from one address (Kafka's `max.connections` and
`max.connections.per.ip`). Who comes when there is no room is sent away, with a line in the log.

A connection is an open file, and so is a partition: whatever the settings say, connections leave
half of the files that the process may open to the log, and all that it has open.
"""

import logging
import resource
import sys
from collections import Counter
from collections.abc import Callable

from kafkaesque.log.files import SPARE_DESCRIPTORS

logger = logging.getLogger(__name__)

_LOGGED_EVERY = 1000


class ConnectionLimits:
    def __init__(
        self, maximum: int, per_address: int, open_logs: Callable[[], int] = lambda: 0
    ) -> None:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._files = files if files != resource.RLIM_INFINITY else sys.maxsize
        self._open_logs = open_logs
        self._maximum = maximum
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
        left_by_logs = self._files - self._open_logs() - SPARE_DESCRIPTORS
        most = max(min(self._files // 2, left_by_logs), 1)
        if self._count >= min(self._maximum, most):
            return f"{self._count} are open, and no more are let in (max.connections, open files)"
        if self._by_address[address] >= self._per_address:
            return f"it has {self._per_address} already (max.connections.per.ip)"
        return None

    def leave(self, address: str) -> None:
        self._count -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]
