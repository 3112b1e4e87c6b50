"""A fan-out in this process: the event loop around server.serve, and what a worker owes its parent.

A worker says over a pipe that it serves (None) or why it cannot (a sentence). Ctrl-C does not reach
it, for the parent decides when to stop; SIGHUP is ignored until the server listens for it; and it
stops when the parent is gone, however that ended.
Above: workers.py. Below: server.py.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any, TypeAlias

from kafkaesque.errors import StartError
from kafkaesque.gateway.fanout.config import FanoutConfig
from kafkaesque.gateway.fanout.siblings import Siblings

Serve: TypeAlias = Callable[[FanoutConfig, Siblings, Callable[[], None]], Coroutine[Any, Any, None]]
"""Serves until SIGTERM or SIGINT and drains; calls its last argument when it listens."""


def run_alone(config: FanoutConfig, ready: Callable[[], None], serve: Serve | None) -> None:
    """In this process, without a parent."""
    _run((serve or _server())(config, Siblings(), ready))


def run_worker(
    siblings: Siblings,
    parent: "Connection[str | None, None]",
    config: FanoutConfig,
    serve: Serve | None,
    log_level: str,
) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    Thread(target=_stop_with_the_parent, daemon=True).start()
    log_to_stderr(log_level)
    try:
        _run((serve or _server())(config, siblings, lambda: _tell(parent, None)))
    except StartError as error:
        _tell(parent, f"worker {siblings.worker}: {error}")
        raise SystemExit(1) from None


def log_to_stderr(level: str) -> None:
    logging.basicConfig(
        level=level.upper(),
        format="[%(asctime)s] [%(process)d] [%(levelname)s] %(message)s",
        datefmt="%Y-%m-%d %H:%M:%S %z",
    )
    # It would tell of every question to the schema registry.
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _tell(parent: "Connection[str | None, None]", complaint: str | None) -> None:
    try:
        parent.send(complaint)
    except BrokenPipeError:
        pass  # It is stopping, and does not listen any more.


def _server() -> Serve:
    from kafkaesque.gateway.fanout.server import serve

    return serve


def _run(serving: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(serving)
    else:
        uvloop.run(serving)


def _stop_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
