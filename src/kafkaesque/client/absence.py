"""A cluster that goes away: said once when nobody answers any more, and once when it is back.

librdkafka itself keeps trying, in silence. Above: reader.py, demo/sender.py. Below: connection.py.
"""

from collections.abc import Callable

from confluent_kafka import KafkaError

from kafkaesque.client.connection import Connection


class Absence:
    """`note` takes librdkafka's errors (`error_cb`), `end` any sign of life."""

    def __init__(self, connection: Connection, tell: Callable[[str], None], meanwhile: str) -> None:
        self._where = connection.bootstrap_servers
        self._tell = tell
        self._meanwhile = meanwhile
        self._is_away = False

    def note(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN and not self._is_away:
            self._is_away = True
            self._tell(f"nothing answers at {self._where}; {self._meanwhile}")

    def end(self) -> None:
        if self._is_away:
            self._is_away = False
            self._tell("the broker is back")
