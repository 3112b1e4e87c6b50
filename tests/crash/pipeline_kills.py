"""A pipeline that is fed all the time, while a worker, the broker, its driver or others are killed.

    feed ─► topic ─► kafkaesque pipeline run … ─► topic, lake or table
                            ▲
                            strikes, one after the other

A strike waits until each query has finished a batch since the one before it, and then for one that
is under way: Spark's own checkpoint tells, with offsets/7 and no commits/7 yet. In the end all is
killed, and a last run, in this process, takes what is left. What came out is the tests' to compare.
"""

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from confluent_kafka import Producer
from pyspark.errors import PySparkException
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.pipeline_process import COMMITS, PLANS, TASKS, WAIT_S, PipelineProcess
from tests.queries import finish

from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines.context import Context, Start
from kafkaesque.pipelines.failures import WORKER_DIED, WORKER_SILENT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Strike: TypeAlias = Callable[[], None]
ROUNDS = 30
ALL_THE_TIME = ("--interval", "0 seconds")
"""For a pipeline that is to be at work whenever it is struck."""
FEED_S = 0.1
LONGEST_PAUSE_S = 0.5
"""About as long as a batch takes."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A pipeline twice, as words for `kafkaesque pipeline run` and as what they start; and how to
    feed it, a little at a time."""

    name: str
    words: Sequence[str]
    start: Start
    feed: Callable[[], None]
    queries: int = 1


class Kills:
    """Its strikes: worker, committer, planner, broker, driver, driver_alone and checkpoint."""

    def __init__(self, scene: Scene, broker: BrokerProcess, place: Path, seed: int = 7) -> None:
        self._chance = random.Random(seed)
        self._scene = scene
        self._broker = broker
        self._checkpoints = place / "checkpoints"
        given = {
            "--name": scene.name,
            "--brokers": broker.bootstrap,
            "--checkpoint": str(self._checkpoints),
        }
        options = [word for pair in given.items() for word in pair]
        self._process = PipelineProcess(place / "pipeline.log", *scene.words, *options)

    def play(self, strikes: Sequence[Strike], spark: "SparkSession") -> None:
        in_the_middle = 0
        with self._process:
            with fed(self._scene.feed):
                for strike in strikes:
                    self._wait_for_work()
                    failures, is_under_way = self._process.failures, self._is_under_way()
                    strike()
                    in_the_middle += is_under_way or self._process.failures != failures
            self._process.kill()
            self._finish(spark)
        assert in_the_middle >= max(1, len(strikes) // 4), (
            "hardly any came in the middle of a batch"
        )

    def play_at_random(self, strikes: Sequence[Strike], spark: "SparkSession") -> None:
        self.play(self._chance.choices(strikes, k=ROUNDS), spark)

    def worker(self) -> None:
        """One that reads or writes."""
        self._kill_worker(TASKS)

    def committer(self) -> None:
        self._kill_worker(COMMITS)

    def planner(self) -> None:
        self._kill_worker(PLANS)

    def broker(self) -> None:
        self._broker.kill()
        self._pause()
        self._broker.start()

    def driver(self) -> None:
        self._process.kill()

    def driver_alone(self) -> None:
        """Its workers go on until they notice, and there may be a new driver by then."""
        self._process.kill_driver()

    def checkpoint(self) -> None:
        """It is lost with the driver."""
        self._process.kill()
        shutil.rmtree(self._checkpoints)

    def _kill_worker(self, names: Sequence[str]) -> None:
        """And another, if that one was done just before, until a query fails of it."""
        before = self._process.failures
        while (failures := self._process.failures) == before:
            finished = self._finished()
            self._process.kill_worker(names)
            self._until(partial(self._goes_on, failures, finished))
        assert any(words in failures[-1] for words in (WORKER_DIED, WORKER_SILENT))

    def _goes_on(self, failures: list[str], finished: dict[Path, int]) -> bool:
        return self._process.failures != failures or self._finished() != finished

    def _wait_for_work(self) -> None:
        before = self._finished()
        self._process.start()

        def is_at_work() -> bool:
            now = self._finished()
            return sum(now[query] != before.get(query) for query in now) >= self._scene.queries

        self._until(is_at_work)
        self._until(self._is_under_way)
        self._pause()

    def _until(self, condition: Callable[[], bool]) -> None:
        def is_met() -> bool:
            self._process.require_running()
            return condition()

        try:
            foreign.until(is_met, WAIT_S)
        except AssertionError as error:
            error.add_note(self._process.log[-5000:])
            raise

    def _pause(self) -> None:
        time.sleep(self._chance.uniform(0, LONGEST_PAUSE_S))

    def _finished(self) -> dict[Path, int]:
        return self._newest("commits")

    def _is_under_way(self) -> bool:
        finished = self._finished()
        return any(
            batch > finished.get(query, -1) for query, batch in self._newest("offsets").items()
        )

    def _newest(self, kind: str) -> dict[Path, int]:
        """Of each query the last batch of which there is such a file."""
        found: dict[Path, int] = {}
        # An archive has a directory between, for each table.
        for pattern in (f"*/{kind}/[0-9]*", f"*/*/{kind}/[0-9]*"):
            for path in self._checkpoints.glob(pattern):
                query, batch = path.parents[1], int(path.name)
                found[query] = max(batch, found.get(query, batch))
        return found

    def _finish(self, spark: "SparkSession") -> None:
        """All that is left."""
        connection, place = connection_of(self._broker.bootstrap), str(self._checkpoints)
        context = Context(self._scene.name, spark, connection, place, once=True)
        try:
            finish(self._scene.start(context))
        except PySparkException as error:
            # Spark waits ten seconds for a worker to start: a busy machine may need longer.
            if "failed to connect back" not in str(error):
                raise
            finish(self._scene.start(context))


class Numbers:
    """Feeds a topic with numbers under ten keys, each of which has its partition."""

    def __init__(self, brokers: str, topic: str, partitions: int) -> None:
        settings = {"enable.idempotence": True, "reconnect.backoff.max.ms": 200, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": brokers, **settings})
        self._topic = topic
        self._partitions = partitions
        self._next = 0

    def feed(self) -> None:
        for number in range(self._next, self._next + 10):
            key, partition = b"key-%d" % (number % 10), number % self._partitions
            self._producer.produce(self._topic, b"%d" % number, key, partition)
        self._next += 10
        assert self._producer.flush(WAIT_S) == 0


@contextmanager
def fed(feed: Callable[[], None]) -> Iterator[None]:
    """Meanwhile, again and again; raises what went wrong with it."""
    is_over = threading.Event()

    def feed_on() -> None:
        while not is_over.wait(FEED_S):
            feed()

    with ThreadPoolExecutor(1) as pool:
        feeding = pool.submit(feed_on)
        try:
            yield
        finally:
            is_over.set()
            feeding.result()
