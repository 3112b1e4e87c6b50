"""Calls that block, for pages that may not. Above: poller.py, schemas.py, pipelines_poller.py."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def in_thread(call: Callable[[], T]) -> T:
    """Not asyncio.to_thread: its threads would hold up the end of a process until they are done."""
    done: Future[T] = Future()
    # Whoever waits may be cancelled; the answer is then nobody's, and no error.
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)
