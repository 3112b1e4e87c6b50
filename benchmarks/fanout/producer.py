"""The producer, a process of its own: `python -m benchmarks.fanout.producer` and one JSON argument.

It says `ready`; then it takes a line with a number of rounds, sends them in time, says `done`
with what it did, and waits for the next line. Each message carries the moment it was handed to the
client. Above: feeding.py.
"""

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.fanout.load import Load, key, value
from confluent_kafka import Producer


class Sender:
    def __init__(self, topic: str, load: Load, settings: Mapping[str, Any]) -> None:
        self._producer = Producer(dict(settings))
        self._topic = topic
        self._load = load
        self._keys = [key(number).encode() for number in range(load.keys)]
        self._failed = 0

    def connect(self) -> None:
        self._producer.list_topics(self._topic, 30)

    def send(self, first_round: int, rounds: int) -> dict[str, float]:
        """Keep to the clock: what was missed while the machine was busy is sent at once."""
        total, sent, latest = rounds * self._load.keys, 0, 0.0
        cpu, start = time.process_time(), time.monotonic()
        while sent < total:
            elapsed = time.monotonic() - start
            due = min(total, self._load.due(elapsed))
            latest = max(latest, elapsed - sent / self._load.per_second)
            for number in range(sent, due):
                self._send_one(first_round, number)
            sent = due
            self._producer.poll(0)
            time.sleep(self._load.tick_ms / 1000)
        left = self._producer.flush(30)
        taken = time.monotonic() - start
        return {
            "sent": sent - left - self._failed,
            "failed": left + self._failed,
            "seconds": taken,
            "late_ms": latest * 1000,
            "cpu_s": time.process_time() - cpu,
        }

    def _send_one(self, first_round: int, number: int) -> None:
        whole, place = divmod(number, self._load.keys)
        data = value(place, first_round + whole, time.monotonic_ns(), self._load.size)
        self._producer.produce(self._topic, data, self._keys[place], on_delivery=self._noted)

    def _noted(self, error: object, message: object) -> None:
        if error is not None:
            self._failed += 1


def main() -> None:
    told = json.loads(sys.argv[1])
    sender = Sender(told["topic"], Load(**told["load"]), told["settings"])
    sender.connect()
    print("ready", flush=True)
    done = 0
    for line in sys.stdin:
        rounds = int(line)
        print("done", json.dumps(sender.send(done, rounds)), flush=True)
        done += rounds


if __name__ == "__main__":
    main()
