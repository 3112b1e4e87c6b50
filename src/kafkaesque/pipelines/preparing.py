"""The AOT cache, made once beside the first pipeline that runs for a while: the next starts faster.

It is made after the pipeline has had the machine to itself for its start, at the lowest priority,
and given up when the pipeline ends. That it could not be made is no matter to the pipeline: then
`kafkaesque pipeline doctor --run` says why.
Above: cli/pipeline/run_options.py. Below: session.py, starting/aot.py.
"""

import threading
from typing import Self

from kafkaesque.pipelines.session import defaults
from kafkaesque.pipelines.starting import aot
from kafkaesque.pipelines.starting.caches import SessionError
from kafkaesque.pipelines.starting.command import is_plain, jvm_command
from kafkaesque.pipelines.starting.java import find_java

AFTER_S = 60.0


class Preparing:
    """`with Preparing(master):` whatever runs meanwhile."""

    def __init__(self, master: str, after_s: float = AFTER_S) -> None:
        self._master = master
        self._after_s = after_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="preparing", daemon=True)

    def __enter__(self) -> Self:
        if is_plain(self._master):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        if self._over.wait(self._after_s):
            return
        try:
            java = find_java()
            command = jvm_command(java, defaults(self._master))
            if command and aot.cache_file(java, command) and not aot.is_taken(java, command):
                aot.make(java, command, self._over)
        except (SessionError, OSError):
            return
