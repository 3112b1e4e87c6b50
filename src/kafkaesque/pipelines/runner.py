"""Running a pipeline: start its queries, watch them, tell how they fare, start them again.

    starting ──► running ──► finished                all there was (once), or it was told to end
                   │  ▲ └──► stopped ──► starting    told to stop, and it stays to be started again
                   ▼  │
               restarting                            a query failed: again, after a while

What fails when it is first started is a mistake, and ends the run, unless it stays; what fails
later may pass (a broker or a database that is away, a disk that is full), and is tried again, the
waits growing to half a minute, until it works or someone stops it. With `once` a failure ends the
run as well.
Every query goes on where its checkpoint says, so that nothing is lost or doubled by that.

One thread runs it all. Above: cli/pipeline/run.py. Below: context.py, progress.py, client/board.py.
"""

import logging
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafkaesque.client.app.backoff import Backoff
from kafkaesque.client.board import Board
from kafkaesque.client.connection import Connection
from kafkaesque.client.pipelines import Command, PipelineStatus, QueryStatus, State
from kafkaesque.pipelines.context import Context, Start
from kafkaesque.pipelines.failures import PipelineError, reason_of
from kafkaesque.pipelines.late import LookedAfter
from kafkaesque.pipelines.progress import Tally
from kafkaesque.pipelines.session import session, stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PERIOD_S = 0.25
TELL_S = 1.0
BACKOFF = Backoff(first_s=1.0, most_s=30.0)
RECENT = 100
GRACE_S = 10.0
"""How long a batch may take that is not cut off when a pipeline is stopped."""
PATIENCE_S = 1.0
"""How long nobody asks why it is not stopped yet."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to run, and on what. `stays`: when it is stopped, it waits to be started again."""

    name: str
    start: Start
    connection: Connection
    checkpoints: str
    registry: str | None = None
    once: bool = False
    interval: str = "1 second"
    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    stays: bool = False

    def context(self, spark: "SparkSession") -> Context:
        return Context(
            self.name,
            spark,
            self.connection,
            self.checkpoints,
            self.registry,
            self.once,
            self.interval,
        )


class Runner:
    """One run of a pipeline. `show` is given every status, `tell` what is worth a line."""

    def __init__(
        self,
        job: Job,
        board: Board,
        *,
        is_asked_to_end: Callable[[], bool],
        tell: Callable[[str], None],
        show: Callable[[PipelineStatus], None] = lambda _: None,
    ) -> None:
        self.job = job
        self.run_id = uuid.uuid4().hex[:12]
        self._board = board
        self._is_asked_to_end = is_asked_to_end
        self._tell = tell
        self._show = show
        self._state: State = "starting"
        self._error: str | None = None
        self._restarts = 0
        self._failures = 0
        self._started_ms = _now_ms()
        self._told_s = 0.0
        self._tallies: dict[str, Tally] = {}
        self._spark: SparkSession | None = None
        self._is_told_to_stop = False

    def run(self) -> None:
        """Until it has ended. Raises PipelineError if it could not start, or `once` failed."""
        # It logs, with a traceback, what it raises as well.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        self._board.make()
        self._enter("starting")
        try:
            while self._runs_once():
                pass
            self._enter("finished")
        except BaseException as error:
            self._error = reason_of(error)
            self._enter("failed")
            raise
        finally:
            self._board.flush()
            if self._spark is not None:
                stop(self._spark)

    def _runs_once(self) -> bool:
        """From start to stop, end or failure; whether it is to be run again."""
        try:
            with self._queries() as queries:
                self._enter("running")
                self._watch(queries)
        except Exception as error:
            is_new = self._restarts == 0 and not self._has_progress and not self.job.stays
            if self.job.once or is_new or isinstance(error, PipelineError):
                raise self._as_pipeline_error(error) from error
            return self._waits_for_another_try(error)
        if self._is_asked_to_end() or not self._is_told_to_stop:
            return False
        return self.job.stays and self._waits_to_be_started()

    @contextmanager
    def _queries(self) -> "Iterator[list[StreamingQuery]]":
        spark = self._session()
        context = self.job.context(spark)
        queries = list(self.job.start(context))
        try:
            for query in queries:
                name = str(query.name).removeprefix(f"{self.job.name}.")
                self._tallies.setdefault(str(query.id), Tally(name, context.destinations.get(name)))
            yield queries
        finally:
            # Also those that the pipeline started before it failed.
            for query in spark.streams.active:
                self._stop(query)

    def _stop(self, query: "StreamingQuery") -> None:
        """Between two batches, if that is soon: one that is cut off is only done again."""
        since_s = time.monotonic()
        is_told = False
        while query.isActive and query.status["isTriggerActive"]:
            waited_s = time.monotonic() - since_s
            if waited_s > GRACE_S:
                break
            if waited_s > PATIENCE_S and not is_told:
                self._tell(f"{query.name} ends its batch first, in {GRACE_S:.0f} s at the latest")
                is_told = True
            time.sleep(0.02)
        query.stop()

    def _session(self) -> "SparkSession":
        """The one there is, or a new one: a JVM may have died under it."""
        if self._spark is not None and not _is_alive(self._spark):
            stop(self._spark)
            self._spark = None
        if self._spark is None:
            name = f"kafkaesque {self.job.name}"
            with _own_interrupts():
                self._spark = session(name, self.job.master, self.job.conf)
        return self._spark

    def _watch(self, queries: "list[StreamingQuery]") -> None:
        """Until all have ended, or it is time to. Raises what a query failed of."""
        while any(query.isActive for query in queries):
            if self._is_time_to_stop():
                return
            self._note(queries)
            for query in queries:
                if not query.isActive and (failure := query.exception()) is not None:
                    raise failure
            time.sleep(PERIOD_S)
        for query in queries:
            if (failure := query.exception()) is not None:
                raise failure
        self._note(queries)

    def _note(self, queries: "list[StreamingQuery]") -> None:
        for query in queries:
            tally = self._tallies[str(query.id)]
            last: Any = query.lastProgress
            if last is None:
                continue
            missed = int(last["batchId"]) - tally.status.batch > 1
            if tally.add(query.recentProgress[-RECENT:] if missed else [last]):
                self._failures = 0
                self._error = None
            if isinstance(query, LookedAfter):
                tally.count_late(query.late.rows)
        if time.monotonic() - self._told_s >= TELL_S:
            self._publish()

    def _is_time_to_stop(self) -> bool:
        self._obey()
        return self._is_told_to_stop or self._is_asked_to_end()

    def _obey(self) -> None:
        for said in self._board.poll():
            if isinstance(said, Command) and (said.name, said.run) == (self.job.name, self.run_id):
                self._is_told_to_stop = said.verb == "stop"

    def _waits_for_another_try(self, error: Exception) -> bool:
        self._restarts += 1
        self._failures += 1
        self._error = reason_of(error)
        delay_s = BACKOFF.delay_s(self._failures)
        self._tell(f"{self.job.name} failed ({self._error}); it starts again in {delay_s:.0f} s")
        self._enter("restarting")
        until_s = time.monotonic() + delay_s
        while time.monotonic() < until_s:
            if self._is_time_to_stop():
                return self.job.stays and self._waits_to_be_started()
            self._pause()
        return True

    def _waits_to_be_started(self) -> bool:
        self._enter("stopped")
        self._tell(f"{self.job.name} is stopped, and waits to be started again")
        while self._is_told_to_stop:
            if self._is_asked_to_end():
                return False
            self._obey()
            self._pause()
        self._enter("starting")
        return True

    def _pause(self) -> None:
        if time.monotonic() - self._told_s >= TELL_S:
            self._publish()
        time.sleep(PERIOD_S)

    def _enter(self, state: State) -> None:
        self._state = state
        self._publish()

    def _publish(self) -> None:
        self._told_s = time.monotonic()
        status = PipelineStatus(
            name=self.job.name,
            run=self.run_id,
            state=self._state,
            at_ms=_now_ms(),
            started_ms=self._started_ms,
            master=self.job.master,
            restarts=self._restarts,
            error=self._error,
            queries=tuple(self._query_statuses()),
        )
        self._board.publish(status)
        self._show(status)

    def _query_statuses(self) -> Iterator[QueryStatus]:
        return (tally.status for tally in self._tallies.values())

    @property
    def _has_progress(self) -> bool:
        return any(tally.status.batch >= 0 for tally in self._tallies.values())

    def _as_pipeline_error(self, error: Exception) -> PipelineError:
        if isinstance(error, PipelineError):
            return error
        return PipelineError(f"{self.job.name} failed: {reason_of(error)}")


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """PySpark takes Ctrl-C for itself: it would end the queries in the middle of a batch."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _is_alive(spark: "SparkSession") -> bool:
    gateway: Any = spark.sparkContext._gateway
    process = getattr(gateway, "proc", None)
    return process is None or process.poll() is None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
