"""One poller for all browsers: looks at the cluster while somebody looks at the page.

Pages `watch` and `unwatch`; the first watcher starts the looking, and it ends after the last.
A look runs in a thread, the state belongs to the event loop. An answer that does not come is a
state like any other: the last snapshot stays, `problem` says what is wrong, and the next look
may find the cluster back. Pages also get their tails here, so that none outlives the process's end.
Above: pages/. Below: look.py, snapshot.py, threads.py.
"""

import asyncio
import time
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial

from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.tail import Deliver, Fail, Tail
from kafkaesque.client.topics import Setting
from kafkaesque.client.v1 import Start
from kafkaesque.console.fanout_tail import FanoutTail
from kafkaesque.console.look import Lookout
from kafkaesque.console.snapshot import History, LagHistory, Snapshot
from kafkaesque.console.threads import in_thread
from kafkaesque.types import TopicPartition

EVERY_S = 1.0
# A look may take no more than this share of the time, however large the cluster is.
SHARE = 0.25
FORGET_AFTER_S = 10.0
STOP_TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True)
class View:
    """What the pages draw. `version` grows with every look."""

    version: int = 0
    snapshot: Snapshot | None = None
    problem: str | None = None
    problem_since_s: float | None = None
    rates: dict[TopicPartition, float] = field(default_factory=dict)
    series: dict[str, list[float]] = field(default_factory=dict)
    lags: dict[str, list[int]] = field(default_factory=dict)


class Poller:
    def __init__(self, connection: Connection, fanout_url: str | None = None) -> None:
        self.view = View()
        self.fanout_url = fanout_url
        self._connection = connection
        self._lookout = Lookout(connection)
        self._history = History()
        self._lags = LagHistory()
        self._watchers: set[Hashable] = set()
        self._tails: weakref.WeakSet[Tail | FanoutTail] = weakref.WeakSet()
        self._task: asyncio.Task[None] | None = None

    @property
    def pages(self) -> int:
        """How many look."""
        return len(self._watchers)

    @property
    def tails(self) -> int:
        return len(self._tails)

    def watch(self, watcher: Hashable) -> None:
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def unwatch(self, watcher: Hashable) -> None:
        self._watchers.discard(watcher)

    def open_tail(self, topic: str, last: int, deliver: Deliver, fail: Fail) -> Tail:
        """Begin to read a topic. Whoever opens a tail stops it."""
        tail = Tail(self._connection, topic, last, deliver, fail)
        self._tails.add(tail)
        tail.start()
        return tail

    def open_matches(
        self,
        topic: str,
        where: str,
        last: int,
        deliver: Deliver,
        skip: Callable[[int], None],
        fail: Fail,
    ) -> FanoutTail:
        """As `open_tail`, but only what a filter matches, from the fan-out."""
        assert self.fanout_url is not None
        start = self._start(topic, last)
        tail = FanoutTail(self.fanout_url, topic, where, start, deliver, skip, fail)
        self._tails.add(tail)
        tail.start()
        return tail

    def _start(self, topic: str, last: int) -> Start:
        """The offsets before which there are so many records, in each partition."""
        seen = self.view.snapshot.topics.get(topic) if self.view.snapshot else None
        starts = {
            partition.number: max(partition.start, partition.end - last)
            for partition in (seen.partitions if seen else ())
            if partition.start is not None and partition.end is not None
        }
        # A partition without an offset would be read from its beginning.
        is_known = seen is not None and len(starts) == len(seen.partitions)
        return starts if last and is_known else "latest"

    async def stop(self) -> None:
        self._watchers.clear()
        if self._task is not None:
            self._task.cancel()
        await in_thread(partial(_end_all, list(self._tails)))

    async def settings(self, topic: str) -> list[Setting]:
        """The settings of a topic; none if the cluster cannot tell now."""
        try:
            return await in_thread(partial(self._lookout.settings, topic))
        except ClusterError:
            return []

    async def _poll(self) -> None:
        self._forget_if_old()
        while self._watchers:
            began_s = time.monotonic()
            try:
                snapshot = await in_thread(self._lookout.look)
            except ClusterError as error:
                self._miss(str(error))
                await asyncio.sleep(EVERY_S)
            else:
                self._see(snapshot)
                took_s = time.monotonic() - began_s
                await asyncio.sleep(max(EVERY_S - took_s, took_s * (1 / SHARE - 1)))

    def _see(self, snapshot: Snapshot) -> None:
        self._history.add(snapshot.at_s, snapshot.ends)
        self._lags.add(snapshot.groups)
        self.view = View(
            version=self.view.version + 1,
            snapshot=snapshot,
            rates=self._history.rates(),
            series=self._history.series(snapshot.topics),
            lags=self._lags.series(),
        )

    def _miss(self, problem: str) -> None:
        # What was written meanwhile would look like a burst: rates begin anew.
        self._forget()
        since_s = self.view.problem_since_s
        self.view = View(
            version=self.view.version + 1,
            snapshot=self.view.snapshot,
            problem=problem,
            problem_since_s=time.time() if since_s is None else since_s,
        )

    def _forget(self) -> None:
        self._history.clear()
        self._lags.clear()

    def _forget_if_old(self) -> None:
        """After a while unwatched, old numbers would pass for new ones."""
        snapshot = self.view.snapshot
        if snapshot is not None and time.monotonic() - snapshot.at_s > FORGET_AFTER_S:
            self._forget()
            self.view = View(version=self.view.version + 1)


def _end_all(tails: list[Tail | FanoutTail]) -> None:
    for tail in tails:
        tail.stop()
    deadline_s = time.monotonic() + STOP_TIMEOUT_S
    for tail in tails:
        tail.join(max(0.0, deadline_s - time.monotonic()))
