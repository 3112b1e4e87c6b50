"""Rows that a query's windows have left out: found again after the batch, and sent elsewhere.

Spark drops rows that come after their window is closed, and only counts them (after it has put
together those of one window, so not even that is their number). Its checkpoint tells what each
batch has read and which watermark held (batches.py). So when a batch reports that it dropped
something, its range of offsets is read once more, and what was left out is sent on. As long as
nothing is late, it costs a look at the query's reports.

`send` must know by itself what it has sent already: after a crash the batches since the last note
are looked at again, all of them, because their reports are gone.

    Spark's batch n ─► its report ─► look(): dropped or refused? ─► send(batch n) ─► note(n)

One thread for each query, which ends with it. What fails in it ends the query, as a failure of the
query's own would: whoever runs it starts it again.
Above: stocks.py. Below: batches.py, session.py.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pyspark import SparkContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafkaesque.pipelines.batches import Batch, Checkpoint
from kafkaesque.pipelines.session import make_active

NOTE: Final = "late"
"""The file of the checkpoint that says up to which batch was looked."""
OBSERVED: Final = "left_out"
"""The name under which a query observes what it leaves out itself, with one count in it."""
_PERIOD_S = 0.5
_NOTE_EVERY = 20


class LookedAfter(StreamingQuery):
    """A query, and the look at what it leaves out: active until both are done."""

    def __init__(
        self,
        query: StreamingQuery,
        spark: SparkSession,
        checkpoint: str,
        send: Callable[[Batch], int],
        *,
        once: bool,
    ) -> None:
        super().__init__(query._jsq)
        self.late = Late(query, Checkpoint(spark, checkpoint), send)
        self._spark = spark
        self._once = once
        self._failure: Exception | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name=f"late {query.name}", daemon=True)
        self._thread.start()

    @property
    def isActive(self) -> bool:  # noqa: N802
        return bool(super().isActive) or self._thread.is_alive()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        ended = super().awaitTermination(timeout)
        if ended is not False:
            self._thread.join()
            if self._failure is not None:
                raise self._failure
        return ended

    def exception(self) -> StreamingQueryException | None:
        # A runner only wants to know what to tell of it.
        return super().exception() or self._failure  # type: ignore[return-value]

    def stop(self) -> None:
        self._ended.set()
        super().stop()
        self._thread.join()

    def _look(self) -> None:
        try:
            make_active(self._spark)
            while super().isActive and not self._ended.wait(_PERIOD_S):
                self.late.look()
            if self._once and not self._ended.is_set():
                # It has ended by itself: there will be no other look.
                self.late.look()
        except Exception as error:
            # When it was stopped, the session may be gone already: the next run looks again.
            if super().isActive or self._once:
                self._failure = error
                super().stop()
        finally:
            _leave_gateway()


class Late:
    """`send` is given each batch that may have left out rows, in order: how many it found."""

    def __init__(
        self, query: StreamingQuery, checkpoint: Checkpoint, send: Callable[[Batch], int]
    ) -> None:
        self.rows = 0
        """Sent since this run began."""
        self._query = query
        self._checkpoint = checkpoint
        self._send = send
        finished = checkpoint.finished()
        self._noted = _first(checkpoint.noted(NOTE), finished)
        self._seen = self._noted
        self._unknown = finished[-1] if finished else -1
        """Up to this batch there are no reports of this run."""

    def look(self) -> None:
        """At the batches that were finished since the last look."""
        reports = self._reports()
        last = max([self._unknown, *reports])
        for number in range(self._seen + 1, last + 1):
            if reports.get(number) != 0:
                self._look_at(number)
            self._seen = number
        if self._seen - self._noted >= _NOTE_EVERY:
            self._note()

    def _look_at(self, number: int) -> None:
        found = self._checkpoint.batch(number)
        sent = self._send(found) if found is not None and found.start != found.end else 0
        self.rows += sent
        if sent:
            self._seen = number
            self._note()

    def _note(self) -> None:
        self._checkpoint.note(NOTE, self._seen)
        self._noted = self._seen

    def _reports(self) -> dict[int, int]:
        """What each batch that is finished, and not looked at, says it left out."""
        last: Any = self._query.lastProgress
        if last is None or last["batchId"] <= self._seen:
            return {}
        reports = [last] if last["batchId"] == self._seen + 1 else self._query.recentProgress
        return left_out(reports, self._seen)


def left_out(reports: Iterable[Mapping[str, Any]], after: int) -> dict[int, int]:
    """By batch. A report without addBatch says that there was none: its batch is still to come."""
    return {
        int(report["batchId"]): _dropped(report)
        for report in reports
        if report["batchId"] > after and "addBatch" in report["durationMs"]
    }


def _dropped(report: Mapping[str, Any]) -> int:
    late = sum(int(each["numRowsDroppedByWatermark"]) for each in report["stateOperators"])
    observed = (report.get("observedMetrics") or {}).get(OBSERVED)
    return late + (int(observed[0] or 0) if observed is not None else 0)


def _leave_gateway() -> None:
    """Each thread has a connection of its own to the JVM, which nobody else would close."""
    gateway: Any = SparkContext._gateway
    if gateway is not None and (connection := gateway._gateway_client.get_thread_connection()):
        connection.close()


def _first(noted: int | None, finished: list[int]) -> int:
    """The last batch that needs no look."""
    if not finished:
        return -1
    # Of the first one that is kept it is not known where it began, unless it is the very first.
    oldest = finished[0] if finished[0] else -1
    return max(oldest, -1 if noted is None else noted)
