"""What Spark's Python workers do once: let the garbage collector forget what is loaded for good.

A worker collects garbage after every task, and each time looks at all that numpy, pyarrow, PySpark
and others have loaded: some 80 ms, in which a small micro-batch could be read ten times over.
Above: source/batch.py, sink/staging.py, lake/writer.py.
"""

import gc
import os

_settled_pid = 0


def settle() -> None:
    """Called in a task, when all is loaded that its work needs; from then on it costs nothing."""
    global _settled_pid
    if _settled_pid != os.getpid():
        _settled_pid = os.getpid()
        gc.collect()
        gc.freeze()
