"""Values that were refused, on their way to a dead-letter topic, from the task that read them.

The letters are those of client/app/dead_letters.py: key, value and headers as they were, and more
headers that say where the record was and why it was refused. Those of a batch are sent together;
`send` returns when the cluster has taken them all. A task that is tried again sends them again.
Above: values.py. Below: client/app/dead_letters.py.
"""

import time
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from kafkaesque.client.admin import Admin
from kafkaesque.client.app.checks import make_topics
from kafkaesque.client.app.dead_letters import BACKOFF, DeadLetter, letter_producer, raise_if_final
from kafkaesque.client.connection import Connection
from kafkaesque.client.logs import warn

_WAIT_S = 0.1


class Letters:
    """The one producer of a process for a topic, made when the first letter is sent."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._connection = connection
        self.topic = topic
        self._producer: Producer | None = None

    def send(self, letters: list[DeadLetter]) -> None:
        """Waits for a cluster that is away. Raises ClusterError if the topic takes one never."""
        if self._producer is None:
            self._make_topic()
            self._producer = letter_producer(self._connection)
        attempt = 0
        while letters:
            failed = _produced(self._producer, letters)
            for _, error in failed:
                raise_if_final(error, self.topic)
            letters = [letter for letter, _ in failed]
            if letters:
                attempt += 1
                warn(f"{len(letters)} dead letters for {self.topic} have to wait: {failed[0][1]}")
                time.sleep(BACKOFF.delay_s(attempt))

    def _make_topic(self) -> None:
        admin = Admin.connect(self._connection)
        if all(each.name != self.topic for each in admin.topics()):
            make_topics(admin, [self.topic])


def _produced(producer: Producer, letters: list[DeadLetter]) -> list[tuple[DeadLetter, KafkaError]]:
    """Those that the cluster has not taken, and why."""
    failed: list[tuple[DeadLetter, KafkaError]] = []
    open_letters = len(letters)

    def note(letter: DeadLetter, error: KafkaError | None) -> None:
        nonlocal open_letters
        open_letters -= 1
        if error is not None:
            failed.append((letter, error))

    for letter in letters:
        event, headers = letter.event, list[Any](letter.headers)
        told = _telling(note, letter)
        while True:
            try:
                producer.produce(
                    letter.topic, event.value, event.key, headers=headers, on_delivery=told
                )
                break
            except BufferError:
                producer.poll(_WAIT_S)
            except KafkaException as error:
                note(letter, error.args[0])
                break
    while open_letters:
        producer.poll(_WAIT_S)
    return failed


def _telling(note: Any, letter: DeadLetter) -> Any:
    return lambda error, _message: note(letter, error)
