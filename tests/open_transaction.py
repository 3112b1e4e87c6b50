"""A transactional producer in the midst of its work, for tests of what is seen of transactions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer
from tests.foreign import TIMEOUT_S


@contextmanager
def open_transaction(
    bootstrap: str,
    transactional_id: str,
    topic: str,
    partitions: Sequence[int] = (0,),
    timeout_ms: int = 60_000,
) -> Iterator[Producer]:
    """One record is written to each of the partitions. What is still open at the end is aborted."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "log_level": 0,
        }
    )
    producer.init_transactions(TIMEOUT_S)
    begin(producer, topic, partitions)
    yield producer
    try:
        producer.abort_transaction(TIMEOUT_S)
    except KafkaException:  # It was ended by the test.
        pass


def begin(producer: Producer, topic: str, partitions: Sequence[int] = (0,)) -> None:
    producer.begin_transaction()
    for number in partitions:
        producer.produce(topic, "written in a transaction", partition=number)
    assert producer.flush(TIMEOUT_S) == 0, "no answer came"


def is_fenced(producer: Producer) -> bool:
    """Tries to commit: a producer that was fenced has lost for good."""
    try:
        producer.commit_transaction(TIMEOUT_S)
    except KafkaException as error:
        told: bool = error.args[0].fatal()
        return told
    return False
