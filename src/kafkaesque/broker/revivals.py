"""Brings partitions back that are offline, because a flush failed or a start could not open them.

Each by itself: one whose disk hangs is not waited for for long, and holds up no other. But what
hangs keeps its thread, so that there is a bound even then: other housekeeping needs some, too. The
logs of the broker's own state go first, and need no turn.
Above: storage.py. Below: partition.py, disk.py.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from kafkaesque.broker.partition import Partition
from kafkaesque.errors import KafkaError

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 1.0
_AT_ONCE = 4
"""All at once would keep the disk from the partitions that are well."""
_HUNG_SECONDS = 10.0
"""One that takes longer is not one of those any more."""
_MOST_THREADS = 6
_MOST_THREADS_WITH_STATE = 7
_FAILURES_PER_ROUND = 100
"""Thousands that fail would keep a core busy. Those that come back cost nobody a turn."""
_LONG_SECONDS = 1.0
_REST = 10
_LONGEST_REST_SECONDS = 10.0
"""After an attempt that took long and came to nothing, so many times as long: a large log that
stays damaged is not read from the disk again and again.
"""


class Revivals:
    def __init__(self, state_topics: Sequence[str]) -> None:
        """`state_topics`: the broker's own, in the order in which they are needed."""
        self._state_topics = state_topics
        self._waiting: deque[Partition] = deque()
        # And when each has begun.
        self._under_way: dict[Partition, float] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._failures = 0
        # When to try again those that have failed.
        self._due: WeakKeyDictionary[Partition, float] = WeakKeyDictionary()

    async def revive(self, offline: Iterable[Partition]) -> None:
        now = _now()
        due = (
            partition
            for partition in offline
            if partition not in self._under_way and self._due.get(partition, now) <= now
        )
        self._waiting = deque(sorted(due, key=self._rank))
        self._failures = 0
        workers = self._hire()
        if workers:
            done, _ = await asyncio.wait(workers, timeout=_WAIT_SECONDS)
            for worker in done:
                worker.result()

    async def ended(self) -> None:
        """Nothing is under way any more. What waits for its turn is left to the next start."""
        self._waiting.clear()
        await asyncio.gather(*self._workers, return_exceptions=True)

    def _rank(self, partition: Partition) -> tuple[int, float]:
        """Of others, first those that were not tried for longest."""
        topics, topic = self._state_topics, partition.name.topic
        number = topics.index(topic) if topic in topics else len(topics)
        return number, self._due.get(partition, 0.0)

    def _hire(self) -> list[asyncio.Task[None]]:
        """As many as may work at once, and have something to do."""
        hired = []
        while (partition := self._next()) is not None:
            worker = asyncio.create_task(self._work(partition))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
            hired.append(worker)
        return hired

    def _next(self) -> Partition | None:
        """The one whose turn it is, if it may begin."""
        if self._failures >= _FAILURES_PER_ROUND:
            return None
        if not self._waiting or not self._may_begin(self._waiting[0]):
            return None
        partition = self._waiting.popleft()
        self._under_way[partition] = _now()
        return partition

    def _may_begin(self, partition: Partition) -> bool:
        threads = len(self._under_way)
        if partition.name.topic in self._state_topics:
            return threads < _MOST_THREADS_WITH_STATE
        hung_if_before = _now() - _HUNG_SECONDS
        busy = sum(began >= hung_if_before for began in self._under_way.values())
        return busy < _AT_ONCE and threads < _MOST_THREADS

    async def _work(self, first: Partition) -> None:
        partition: Partition | None = first
        while partition is not None:
            try:
                await self._try(partition)
            finally:
                del self._under_way[partition]
            partition = self._next()

    async def _try(self, partition: Partition) -> None:
        try:
            await partition.reopen()
        except Exception as error:
            is_expected = isinstance(error, OSError | KafkaError)
            if not is_expected and partition.offline != str(error):
                logger.error("%s cannot be brought back", partition.name, exc_info=error)
            partition.offline = str(error)
            self._failures += 1
            self._due[partition] = _now() + _rest_after(_now() - self._under_way[partition])


def _rest_after(seconds: float) -> float:
    """How long to leave a partition alone after an attempt that has failed."""
    return min(_REST * seconds, _LONGEST_REST_SECONDS) if seconds > _LONG_SECONDS else 0.0


def _now() -> float:
    return asyncio.get_running_loop().time()
