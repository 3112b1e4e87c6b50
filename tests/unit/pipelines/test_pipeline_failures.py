"""What is said of a failure, out of what Spark says."""

import pytest

from kafkaesque.pipelines.failures import LONGEST, reason_of

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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (IN_A_TASK, "ticks/0 begins at 7: records may be lost"),
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


def test_a_reason_is_not_endless() -> None:
    assert len(reason_of(ValueError("x" * 5000))) == LONGEST
