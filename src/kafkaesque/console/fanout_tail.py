"""The records of a topic that a filter matches, as the fan-out finds them: no other comes here.

As client/tail.py: a thread of its own, `deliver` and `fail` are called in it, and nothing is
delivered after `stop`. If more matches than this can take, the fan-out drops the oldest and says
how many: `skip` is told. A fan-out that is not there, or goes away, is a failure: whoever wanted
the records can read them without it. Above: pages/tail.py. Below: client/subscriber.py.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.record import Record
from kafkaesque.client.subscriber import Subscriber
from kafkaesque.client.tail import Deliver, Fail
from kafkaesque.client.v1 import Gap, Start
from kafkaesque.event import Event


class FanoutTail:
    """Reads from `start` to `stop`; for one more time, make one more."""

    def __init__(
        self,
        url: str,
        topic: str,
        where: str,
        start: Start,
        deliver: Deliver,
        skip: Callable[[int], None],
        fail: Fail,
    ) -> None:
        self._uri = websocket_uri(url)
        self._topic = topic
        self._where = where
        self._start = start
        self._deliver = deliver
        self._skip = skip
        self._fail = fail
        self._delivering = threading.Lock()
        self._is_stopped = False
        self._stop: Callable[[], object] | None = None
        self._thread = threading.Thread(target=self._run, name=f"matches of {topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing is delivered from now on. The thread ends soon; `join` waits for that."""
        with self._delivering:
            self._is_stopped = True
            if self._stop is not None:
                self._stop()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(self._read_or_fail())

    async def _read_or_fail(self) -> None:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        with self._delivering:
            if self._is_stopped:
                return
            self._stop = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            await self._read()
        except ClusterError as error:
            self._give_up(str(error))
        finally:
            with self._delivering:
                self._stop = None

    async def _read(self) -> None:
        async with Subscriber(self._uri, tell=self._give_up) as subscriber:
            await subscriber.subscribe(self._topic, where=self._where, start=self._start)
            async for _, item in subscriber.deliveries():
                self._take(item)

    def _take(self, item: Event | Gap) -> None:
        if isinstance(item, Event):
            self._hand_over(lambda: self._deliver([_record(item)]))
        elif item.missed:
            missed = item.missed
            self._hand_over(lambda: self._skip(missed))

    def _give_up(self, problem: str) -> None:
        self._hand_over(lambda: self._fail(problem))

    def _hand_over(self, call: Callable[[], None]) -> None:
        with self._delivering:
            if not self._is_stopped:
                call()


def websocket_uri(url: str) -> str:
    """Where kafkaesque.v1 is spoken, of a fan-out with this address."""
    return f"ws{url.removeprefix('http').rstrip('/')}/v1"


def _record(event: Event) -> Record:
    return Record(
        event.topic,
        event.key,
        event.value,
        tuple(event.headers),
        event.partition,
        event.offset,
        event.timestamp,
    )
