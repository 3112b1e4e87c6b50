"""Spark's daemon of Python workers, in which what ours keep from task to task can be undone.

    settled      what is loaded is frozen, so that the garbage collector leaves it alone
                 (pipelines/workers.py)
    connected    connections stay open (source/fetching.py); those of the process that plans a query
                 always do: all its work is one long task

A file, which the environment names, has the words of what is undone now: each worker reads it after
each task. Spark runs this by its name, as spark.python.daemon.module says, and forks workers from
it. Above: sessions.py.
"""

import gc
import os
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from pyspark import daemon

UNDONE = "KAFKAESQUE_BENCH_UNDONE"
SETTLED, CONNECTED = "settled", "connected"

_work = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """One task, after which Spark collects garbage."""
    code = _work(sock, authenticated)
    # Only a worker that has read a topic has loaded it: nothing is loaded for this.
    if fetching := sys.modules.get("kafkaesque.pipelines.source.fetching"):
        undone = Path(os.environ[UNDONE]).read_text().split()
        if SETTLED in undone:
            gc.unfreeze()
        elif not gc.get_freeze_count():
            gc.collect()
            gc.freeze()
        if CONNECTED in undone:
            _disconnect(fetching)
    return code


def _disconnect(fetching: ModuleType) -> None:
    kept: Any = fetching.__dict__["_kept"]
    if kept is not None:
        kept._loop.call_soon_threadsafe(kept._loop.stop)
        fetching.__dict__["_kept"] = None


if __name__ == "__main__":
    with patch.object(daemon, "worker", worker):
        daemon.manager()
