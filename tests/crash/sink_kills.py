"""A topic copied by Spark while driver and broker are killed with -9, again and again.

A feeder writes to the source all the time. In each round the broker or the driver (its JVM and its
Python; workers are left to notice) is killed at a moment of chance; now and then the checkpoint is
lost with the driver. In the end a last run copies what is left: under each key, the target must
have exactly what the source has, in the same order.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from confluent_kafka import Producer
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.committed_records import committed_records

SCRIPT = Path(__file__).parents[1] / "sink_driver.py"
PARTITIONS = 2


class Feeder(threading.Thread):
    """Writes to the source, each key in its own partition, until it is told to stop."""

    def __init__(self, brokers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": brokers,
                "enable.idempotence": True,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        self._topic = topic
        self._is_over = threading.Event()
        self.count = 0

    def run(self) -> None:
        while not self._is_over.is_set():
            for _ in range(10):
                number = self.count
                self._producer.produce(
                    self._topic, b"%d" % number, b"key-%d" % (number % 10), partition=number % 2
                )
                self.count += 1
            self._producer.poll(0)
            time.sleep(0.1)

    def finish(self) -> None:
        self._is_over.set()
        self.join()
        assert self._producer.flush(60) == 0


class Driver:
    def __init__(self, mode: str, *arguments: str) -> None:
        command = [sys.executable, str(SCRIPT), mode, *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the driver ended with {self.process.wait()}"
        self._jvm = int(line)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        if self.is_alive:
            for pid in (self._jvm, self.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._close()

    def finish(self) -> None:
        assert self.process.wait(timeout=600) == 0

    def _close(self) -> None:
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def play(broker: BrokerProcess, place: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    source = foreign.create_topic(broker.bootstrap, partitions=2)
    target = foreign.create_topic(broker.bootstrap, partitions=PARTITIONS)
    checkpoint = place / "checkpoint"
    arguments = (broker.bootstrap, source, target, str(checkpoint))
    feeder = Feeder(broker.bootstrap, source)
    feeder.start()
    driver: Driver | None = None
    try:
        for number in range(rounds):
            if driver is None or not driver.is_alive:
                driver = Driver("on", *arguments)
            # Else it would be killed before it has begun.
            before = _end(broker.bootstrap, target)
            while driver.is_alive and _end(broker.bootstrap, target) == before:
                time.sleep(0.1)
            time.sleep(chance.uniform(0, 2))
            if number % 2:
                broker.kill()
                time.sleep(chance.uniform(0, 0.5))
                broker.start()
                continue
            driver.kill()
            driver = None
            if chance.random() < 0.25:
                shutil.rmtree(checkpoint, ignore_errors=True)
    finally:
        feeder.finish()
        if driver is not None:
            driver.kill()
    last = Driver("once", *arguments)
    try:
        last.finish()
    finally:
        last.kill()
    _compare(broker.bootstrap, source, target)


def _end(brokers: str, topic: str) -> int:
    return sum(foreign.watermarks(brokers, topic, each)[1] for each in range(PARTITIONS))


def _compare(brokers: str, source: str, target: str) -> None:
    wanted = _by_key(brokers, source, 2)
    found = _by_key(brokers, target, PARTITIONS)
    assert sum(map(len, wanted.values())) > 100
    assert {key: len(values) for key, values in found.items()} == {
        key: len(values) for key, values in wanted.items()
    }
    assert found == wanted


def _by_key(brokers: str, topic: str, partitions: int) -> dict[bytes, list[bytes]]:
    found: dict[bytes, list[bytes]] = {}
    for message in committed_records(brokers, topic, partitions):
        found.setdefault(message.key(), []).append(message.value())
    return found
