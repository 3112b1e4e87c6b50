"""What is said of a failure, out of what Spark says."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafkaesque.pipelines.failures import LONGEST, WORKER_DIED, WORKER_SILENT, reason_of

IN_A_TASK = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage \
failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage 3.0 \
(TID 5) (localhost executor driver): org.apache.spark.api.python.PythonException: Traceback \
(most recent call last):
  File "worker.py", line 1, in main
    process()
kafkaesque.pipelines.source.planning.DataLossError: ticks/0 begins at 7: records may be lost

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:581)
Driver stacktrace: SQLSTATE: XXKST
"""
IN_JAVA = """\
[STREAM_FAILED] Query [id = 1] terminated with exception: Writing job aborted SQLSTATE: XXKST
Caused by: org.apache.spark.SparkException: Writing job aborted
Caused by: java.io.IOException: No space left on device
"""
WORKER_EXITED = """\
Job aborted due to stage failure: Task 0 in stage 15.0 failed 1 times, most recent failure: Lost \
task 0.0 in stage 15.0 (TID 30) (localhost executor driver): org.apache.spark.SparkException: \
Python worker exited unexpectedly (crashed). Consider setting 'spark.python.worker.faulthandler.\
enabled' configuration to 'true' for the better Python traceback.
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read(PythonRunner.scala:1136)
Caused by: java.io.EOFException
"""
NO_WORDS = "[STREAM_FAILED] Query [id = 1] terminated with exception:  SQLSTATE: XXKST (no cause"
PLANNER_GONE = """\
java.io.EOFException
\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)
\tat org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner.latestOffset(P)
"""
STORE_GONE = """\
java.net.SocketException: Connection reset
\tat java.base/sun.nio.ch.SocketChannelImpl.read(SocketChannelImpl.java:426)
\tat org.apache.hadoop.hdfs.DFSInputStream.read(DFSInputStream.java:859)
"""


class CapturedError(Exception):
    """As PySpark's own, which keep the cause in Java and its stack."""

    def __init__(self, text: str, stack: str | None = None) -> None:
        super().__init__(text)
        self._cause: Any = None if stack is None else SimpleNamespace(_stackTrace=stack)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (IN_A_TASK, "ticks/0 begins at 7: records may be lost"),
        (WORKER_EXITED, WORKER_DIED),
        ("Python worker failed to connect back.", WORKER_SILENT),
        (IN_JAVA, "No space left on device"),
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `prize` cannot be resolved. "
            "SQLSTATE: 42703;\n'Project ['prize]",
            "A column `prize` cannot be resolved. SQLSTATE: 42703;",
        ),
        ("plain words", "plain words"),
        ("", "ValueError"),
    ],
)
def test_the_reason_is_what_was_said_at_the_cause(text: str, reason: str) -> None:
    assert reason_of(ValueError(text)) == reason


def test_a_planning_worker_that_was_killed_is_told_from_a_connection_that_broke() -> None:
    for text in (NO_WORDS, "Connection reset"):
        assert reason_of(CapturedError(text, PLANNER_GONE)) == WORKER_DIED
    assert reason_of(CapturedError("Connection reset", STORE_GONE)) == "Connection reset"
    assert reason_of(CapturedError("Connection reset")) == "Connection reset"


def test_a_write_that_could_not_even_be_given_up_is_told_by_what_failed_it() -> None:
    failed, caused = (CapturedError("Writing job failed.\n=== Streaming Query ===") for _ in "ab")
    assert reason_of(failed) == "Writing job failed."
    for cause, reason in (
        (IN_A_TASK, "ticks/0 begins at 7: records may be lost"),
        (WORKER_EXITED, WORKER_DIED),
    ):
        failed._cause, caused._cause = caused, CapturedError(cause)
        assert reason_of(failed) == reason


def test_a_reason_is_not_endless() -> None:
    assert len(reason_of(ValueError("x" * 5000))) == LONGEST
