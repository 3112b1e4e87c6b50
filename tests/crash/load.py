"""Load from real clients that goes on while the broker dies and comes back.

`LoadProducer` is an idempotent confluent-kafka producer in a thread of its own; every message
carries who sent it and its number. `GroupReader` is a member of a consumer group that commits what
it has read. Both keep the evidence that exactly_once.py judges.
Above: test_kill.py.
"""

import random
import threading
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from tests.crash.exactly_once import Commits, Message, Place

# A broker that is down for a third of a second is found again at once.
IMPATIENT: Mapping[str, Any] = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 20,
    "log_level": 0,
}
_PAUSE_SECONDS = 0.01
_BURST = 3
_MAX_UNACKNOWLEDGED = 400


class Background(threading.Thread):
    """Work in steps until it is told to stop. What it raises is raised again by `finish`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._stopped = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                self.step()
            self.close()
        except BaseException as error:
            self._failure = error

    def step(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def finish(self) -> None:
        self._stopped.set()
        self.join(timeout=60)
        assert not self.is_alive()
        self.check()


class LoadProducer(Background):
    """Sends small bursts to random partitions. A message that cannot be delivered is a failure."""

    def __init__(self, number: int, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__()
        self.sent: set[Message] = set()
        self.acknowledged: dict[Message, Place] = {}
        self.undelivered: list[str] = []
        self._number = number
        self._topic = topic
        self._partitions = partitions
        self._rng = random.Random(number)
        self._producer = Producer(
            {
                **IMPATIENT,
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 3,
                "message.timeout.ms": 300_000,
            }
        )

    def step(self) -> None:
        if len(self._producer) < _MAX_UNACKNOWLEDGED:
            for _ in range(self._rng.randint(1, _BURST)):
                self._send(Message(self._number, len(self.sent)))
        self._producer.poll(_PAUSE_SECONDS)

    def close(self) -> None:
        """Everything that was sent is acknowledged in the end."""
        self._producer.flush(60)

    def _send(self, message: Message) -> None:
        self.sent.add(message)
        self._producer.produce(
            self._topic,
            value=value_of(message),
            partition=self._rng.randrange(self._partitions),
            on_delivery=lambda error, report: self._delivered(message, error, report),
        )

    def _delivered(self, message: Message, error: object, report: Any) -> None:
        if error is None:
            self.acknowledged[message] = Place(report.partition(), report.offset())
        else:
            self.undelivered.append(f"{message}: {error}")


class GroupReader(Background):
    """Reads as a member of a group and commits after every handful, waiting for the answer."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        super().__init__()
        self.commits = Commits()
        self.acknowledged = 0
        self.paused = threading.Lock()
        self._topic = topic
        self._consumer = Consumer(
            {
                **IMPATIENT,
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.subscribe([topic])

    def step(self) -> None:
        messages = self._consumer.consume(50, timeout=0.05)
        read = {m.partition() or 0: (m.offset() or 0) + 1 for m in messages if m.error() is None}
        if read:
            with self.paused:
                self._commit(read)

    def close(self) -> None:
        self._consumer.close()

    def _commit(self, offsets: dict[int, int]) -> None:
        self.commits.attempted(offsets)
        wanted = [TopicPartition(self._topic, p, offset) for p, offset in offsets.items()]
        try:
            answered = self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException:
            return
        self.commits.acknowledged({t.partition: t.offset for t in answered if t.error is None})
        self.acknowledged += 1


def value_of(message: Message) -> bytes:
    return f"{message.producer} {message.sequence}".encode()


def message_of(value: bytes) -> Message:
    producer, sequence = value.split()
    return Message(int(producer), int(sequence))
