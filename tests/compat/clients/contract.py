"""The one command line of all client programs, here for those written in Python.

    client BOOTSTRAP ACTION ARGUMENTS       ARGUMENTS is JSON; the answer is JSON lines on stdout
    create          topic, partitions, configs                       topic
    produce         topic, partition, codec, headers, records        of each: partition, offset
    consume_assign  topic, partitions                                records, from start to end
    consume_group   group, topic, count                              records; they are committed
    describe        topic                                            partitions, configs
    member          group, topic, assignor, instance_id, session_ms  events, until SIGTERM

A record to send is [key, value], with headers common to the call; a record that was read is
{partition, offset, key, value, headers}: text or null, and pairs. Events have `at`, CLOCK_MONOTONIC
in nanoseconds, the same in all processes: assigned, revoked, lost (generation, partitions that came
or went), records (generation, partition, offsets), commit (offsets: acknowledged), commit_failed
and poll_failed (error), closed. Above: drivers.py, chaos.py.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Line = dict[str, Any]
Arguments = dict[str, Any]
Action = Callable[[str, Arguments], Iterable[Line]]


def main(actions: Mapping[str, Action]) -> None:
    bootstrap, action, arguments = sys.argv[1:4]
    for line in actions[action](bootstrap, json.loads(arguments)):
        emit(line)


def emit(line: Line) -> None:
    """One line, flushed: a member that is killed later has really said it."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def emit_event(event: str, **fields: Any) -> None:
    emit({"event": event, "at": time.monotonic_ns(), **fields})


def record_line(
    partition: int,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    headers: Iterable[tuple[str, bytes]],
) -> Line:
    return {
        "partition": partition,
        "offset": offset,
        "key": text(key),
        "value": text(value),
        "headers": [[name, text(content)] for name, content in headers],
    }


def text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def encoded(content: str | None) -> bytes | None:
    return None if content is None else content.encode()


def stop_requested() -> Callable[[], bool]:
    """Says from now on whether SIGTERM has come: a member then leaves its group and ends."""
    requests: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: requests.append(number))
    return lambda: bool(requests)
