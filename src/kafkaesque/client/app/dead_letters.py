"""Events that could not be handled, on their way to a dead-letter topic.

A dead letter is the original's key, value and headers as they were, and after them these headers,
all text; it is of the time it was given up.

    kafkaesque.error        what went wrong, 2,000 characters at most
    kafkaesque.error.type   the exception's class, as in builtins.ValueError
    kafkaesque.topic  .partition  .offset  .timestamp     where and when the original was
    kafkaesque.group        whose handler gave it up
    kafkaesque.attempts     how often it was tried; 0 if it could not be decoded

`send` returns when the cluster has taken it; only then may the original be committed. A cluster
that is away is waited for. Above: lane.py, ../dead_letter_box.py. Below: workers.py.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafkaesque.client.answers import words_of
from kafkaesque.client.app.backoff import Backoff
from kafkaesque.client.app.workers import Workers
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.profiles import made, producer_config
from kafkaesque.event import Event, EventHeaders

PREFIX = "kafkaesque."
MAX_REASON_CHARACTERS = 2000

_AWAY = (KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError._TRANSPORT)
BACKOFF = Backoff(0.5, 10.0)
_DELIVERY_TIMEOUT_MS = 10_000
_log = logging.getLogger("kafkaesque.app")


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """`event` is the original, its key and value as bytes."""

    topic: str
    event: Event
    group: str
    error: Exception
    attempts: int

    @property
    def headers(self) -> EventHeaders:
        facts = {
            "error": reason(self.error),
            "error.type": f"{type(self.error).__module__}.{type(self.error).__qualname__}",
            "topic": self.event.topic,
            "partition": self.event.partition,
            "offset": self.event.offset,
            "timestamp": self.event.timestamp,
            "group": self.group,
            "attempts": self.attempts,
        }
        added = {PREFIX + name: str(value).encode() for name, value in facts.items()}
        # One that has been a dead letter before carries these names already.
        kept = [header for header in self.event.headers if header[0] not in added]
        return [*kept, *added.items()]


def reason(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:MAX_REASON_CHARACTERS]


class DeadLetters:
    """The one producer of an app, made when the first dead letter is sent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._producer: Producer | None = None
        self._workers = Workers(2, "kafkaesque-dead-letters")

    async def send(self, letter: DeadLetter) -> None:
        """Raises ClusterError if the topic refuses it for good."""
        attempt = 0
        while (error := await self._send_once(letter)) is not None:
            raise_if_final(error, letter.topic)
            attempt += 1
            _log.warning("a dead letter for %s has to wait: %s", letter.topic, words_of(error))
            await asyncio.sleep(BACKOFF.delay_s(attempt))

    def close(self) -> None:
        self._workers.end()
        if self._producer is not None:
            self._producer.purge()

    async def _send_once(self, letter: DeadLetter) -> KafkaError | None:
        if self._producer is None:
            self._producer = letter_producer(self._connection)
        started = self._workers.start(produce, self._producer, letter)
        error: KafkaError | None = await asyncio.shield(asyncio.wrap_future(started))
        return error


def raise_if_final(error: KafkaError, topic: str) -> None:
    """Raises ClusterError for what would be the same next time."""
    if error.code() not in _AWAY and not error.retriable():
        raise ClusterError(f"topic {topic} took no dead letter: {words_of(error)}")


def letter_producer(connection: Connection) -> Producer:
    more = {"delivery.timeout.ms": _DELIVERY_TIMEOUT_MS}
    return made(Producer, producer_config(connection, "latency", more))


def produce(producer: Producer, letter: DeadLetter) -> KafkaError | None:
    """What went wrong, if anything; returns when the cluster has answered."""
    answers: list[KafkaError | None] = []

    def note(error: KafkaError | None, _message: Message) -> None:
        answers.append(error)

    original, headers = letter.event, list[Any](letter.headers)
    try:
        producer.produce(
            letter.topic, original.value, original.key, headers=headers, on_delivery=note
        )
    except KafkaException as error:
        refusal: KafkaError = error.args[0]
        return refusal
    while not answers:
        producer.poll(0.1)
    return answers[0]
