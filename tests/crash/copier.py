"""A program that copies a topic in transactions: consume, transform, produce, commit the offsets.

    python -m tests.crash.copier BOOTSTRAP INPUT OUTPUT GROUP INSTANCE

It may be killed at any moment, and so may the broker. Some transactions it aborts on purpose when
all is sent, and does them over. What it cannot get over ends it, with a message on stderr: then it
is started again. Each record goes to the partition that it came from. Its Java twin is
compat/clients/java/TransactionalCopier.java. Above: copy_scene.py. Below: copies.py.
"""

import random
import signal
import sys
from collections.abc import Callable, Sequence

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from tests.crash.copies import copy_value
from tests.crash.load import IMPATIENT

STEADFAST = {
    **IMPATIENT,
    # Else a client whose only broker restarts gives that broker up, and with it a request that was
    # on its way to the coordinator: the call that made it never returns.
    "metadata.recovery.strategy": "none",
}
DOOMED = 0.15
_MOST = 20
_CALL_S = 5.0


class Copier:
    """A static member of its group, so that one that is killed has its place back at once."""

    def __init__(
        self,
        bootstrap: str,
        source: str,
        target: str,
        group: str,
        instance: str,
        *,
        doomed: float = DOOMED,
    ) -> None:
        common = {**STEADFAST, "bootstrap.servers": bootstrap}
        self._source = source
        self._target = target
        self._doomed = doomed
        self._rng = random.Random()
        self._consumer = Consumer(
            {
                **common,
                "group.id": group,
                "group.instance.id": instance,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
            }
        )
        self._producer = Producer(
            {
                **common,
                "transactional.id": f"{group}-{instance}",
                "transaction.timeout.ms": 10_000,
                "linger.ms": 1,
            }
        )
        persist(lambda: self._producer.init_transactions(_CALL_S))
        self._consumer.subscribe([source])

    def step(self) -> None:
        came = self._consumer.consume(_MOST, timeout=0.05)
        if fatal := [error for message in came if (error := message.error()) and error.fatal()]:
            raise KafkaException(fatal[0])
        messages = [message for message in came if message.error() is None]
        if not messages:
            return
        is_doomed = self._rng.random() < self._doomed
        try:
            self._send(messages, is_doomed)
            if not is_doomed:
                persist(lambda: self._producer.commit_transaction(_CALL_S))
                return
            self._producer.flush(_CALL_S)
        except KafkaException as failure:
            if not failure.args[0].txn_requires_abort():
                raise
        persist(lambda: self._producer.abort_transaction(_CALL_S))
        self._rewind()

    def close(self) -> None:
        self._consumer.close()

    def _send(self, messages: Sequence[Message], is_doomed: bool) -> None:
        self._producer.begin_transaction()
        ends: dict[int, int] = {}
        for message in messages:
            partition, offset = message.partition() or 0, message.offset() or 0
            value = copy_value(offset, is_doomed, message.value() or b"")
            self._producer.produce(self._target, value, partition=partition)
            ends[partition] = offset + 1
        offsets = [TopicPartition(self._source, *end) for end in ends.items()]
        group = self._consumer.consumer_group_metadata()
        persist(lambda: self._producer.send_offsets_to_transaction(offsets, group, _CALL_S))

    def _rewind(self) -> None:
        """To where the last committed transaction has left off."""
        for place in self._consumer.committed(self._consumer.assignment(), _CALL_S):
            if place.offset < 0:
                place.offset = OFFSET_BEGINNING
            self._consumer.seek(place)


def persist(call: Callable[[], object]) -> None:
    """Call again while the error is one that passes: the broker is away for a moment."""
    while True:
        try:
            call()
            return
        except KafkaException as failure:
            error: KafkaError = failure.args[0]
            if not error.retriable():
                raise


def main() -> None:
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    copier = Copier(*sys.argv[1:])
    while not stopped:
        copier.step()
    copier.close()


if __name__ == "__main__":
    main()
