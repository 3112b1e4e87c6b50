"""`python -m kafkaesque.cli.up.child broker …`: the same command, ending with its parent.

Its standard input is a pipe that only the parent holds. However the parent ends, kill -9 included,
the pipe then ends too, and the command is told to stop as by SIGTERM. Above: processes.py.
"""

import os
import signal
from threading import Thread

from kafkaesque.cli.main import main

_STDIN = 0


def _stop_with_the_parent() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    Thread(target=_stop_with_the_parent, daemon=True).start()
    main()
