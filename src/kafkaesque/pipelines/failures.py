"""What went wrong in Spark, in a line: the cause that somebody can do something about.

A failure in a task, or in a function of Python, comes out of Spark as text within text: the name of
a Java class, a stage, a traceback of a worker, and in its last line what was said. A worker that is
killed says nothing: then Spark tells of the connection to it that broke. Pure.
Above: runner.py, cli/pipeline/.
"""

import re
from typing import Final

from kafkaesque.errors import StartError

LONGEST = 1000
WORKER_DIED: Final = (
    "a Python worker of Spark's was killed, or has crashed: if nobody killed it, see with `dmesg` "
    "whether the machine is short of memory"
)
WORKER_SILENT: Final = (
    "a Python worker of Spark's did not start within ten seconds, or was killed while it did: "
    "the machine may be too busy"
)

# The last line of a Python traceback that Spark quotes: "package.SomeError: what was said".
_RAISED = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Warning): (.+)$", re.MULTILINE
)
_CAUSED = re.compile(r"^Caused by: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
_EXITED = "Python worker exited unexpectedly"
_WRITING = "Writing job failed."
"""A sink could not commit, and could not abort then: the first of the two is the cause."""
_NOT_STARTED = "Python worker failed to connect back"
_BROKEN = re.compile(r"java\.(?:io|net|nio)\..+\bPythonStreamingSourceRunner\b", re.DOTALL)
"""Where the cause is: in the talk with the worker that plans a source's batches."""
_CLASS = re.compile(r"^\[[A-Z0-9_.]+\] ")
_STATE = re.compile(r" SQLSTATE: \w{5}$")


class PipelineError(StartError):
    """A pipeline cannot be run like this; the message names the cause and the cure."""


def reason_of(error: BaseException) -> str:
    """One line. What a task in Python raised comes first, then what Java says caused it."""
    text = str(error)
    if text.startswith(_WRITING) and (cause := _cause_of(_cause_of(error))) is not None:
        return reason_of(cause)
    if _EXITED in text or _BROKEN.match(_stack_of_cause(error)):
        return WORKER_DIED
    if _NOT_STARTED in text:
        return WORKER_SILENT
    quoted = text.partition("Traceback (most recent call last)")[2]
    for pattern, where in ((_RAISED, quoted), (_CAUSED, text)):
        if found := pattern.findall(where):
            return _plain(found[-1])
    first = text.strip().partition("\n")[0]
    return _plain(first) or type(error).__name__


def _stack_of_cause(error: BaseException) -> str:
    return str(getattr(_cause_of(error), "_stackTrace", None) or "")


def _cause_of(error: BaseException | None) -> BaseException | None:
    """As Java has it: PySpark keeps it with what it raises."""
    cause: BaseException | None = getattr(error, "_cause", None)
    return cause


def _plain(line: str) -> str:
    line = _STATE.sub("", _CLASS.sub("", line.strip()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
