"""An App for tests to run in processes of their own, and to kill: it records what it handles.

What to handle it finds in the environment. Each event becomes a line of the file, appended with
one write, so that a kill leaves whole lines: partition, offset, process. An event whose value
begins with "poison" fails.
"""

import json
import os
import time
from collections.abc import Callable
from typing import Any

from kafkaesque.client.app import Ack, App
from kafkaesque.event import Event

ENVIRONMENT: dict[str, Any] = json.loads(os.environ["RECORDING_APP"])
PAUSE_S: float = ENVIRONMENT.get("pause_s", 0.0)
RECORD = os.open(ENVIRONMENT["file"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

app = App(
    ENVIRONMENT["brokers"],
    commit_interval_s=ENVIRONMENT.get("commit_interval_s", 0.05),
    settings=ENVIRONMENT.get("settings"),
)


def record(event: Event) -> None:
    if event.value.startswith("poison"):
        raise ValueError(f"{event.value} cannot be swallowed")
    os.write(RECORD, f"{event.partition} {event.offset} {os.getpid()}\n".encode())
    time.sleep(PAUSE_S)


async def acknowledge(event: Event, ack: Ack) -> None:
    record(event)
    ack()


def record_all(events: list[Event]) -> None:
    for event in events:
        record(event)


HANDLERS: dict[str, Callable[..., object]] = {
    "one": record,
    "batch": record_all,
    "ack": acknowledge,
}

app.handle(
    ENVIRONMENT["topic"],
    group=ENVIRONMENT["group"],
    value="str",
    batch=20 if ENVIRONMENT["kind"] == "batch" else None,
    retries=1,
    backoff_s=0.01,
)(HANDLERS[ENVIRONMENT["kind"]])
