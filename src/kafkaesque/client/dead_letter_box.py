"""Events that a consumer cannot decode, on their way to a dead-letter topic.

The letters are those of app/dead_letters.py: the event as it was, and headers that say why. `put`
returns when the cluster has taken it; only then is the event passed over. A cluster that is away is
waited for; a topic that is missing is made. One thread at a time.
Above: consumer.py. Below: app/dead_letters.py, app/checks.py.
"""

import time
from typing import Any

from kafkaesque.client.connection import Connection
from kafkaesque.client.logs import warn
from kafkaesque.client.serde import DecodeEventError


class DeadLetterBox:
    def __init__(self, connection: Connection, topic: str, group: str | None) -> None:
        self.topic = topic
        self._connection = connection
        self._group = group or ""
        self._producer: Any = None

    def put(self, refusal: DecodeEventError) -> None:
        """Raises ClusterError if the topic refuses it for good."""
        # Loaded by the first letter: most consumers never have one.
        from kafkaesque.client.app.dead_letters import (
            BACKOFF,
            DeadLetter,
            letter_producer,
            produce,
            raise_if_final,
        )
        from kafkaesque.client.app.deliveries import UndecodableError

        reason = f"the {refusal.part} is not {refusal.form}: {refusal.__cause__}"
        letter = DeadLetter(self.topic, refusal.event, self._group, UndecodableError(reason), 0)
        if self._producer is None:
            self._make_topic()
            self._producer = letter_producer(self._connection)
        attempt = 0
        while (error := produce(self._producer, letter)) is not None:
            raise_if_final(error, self.topic)
            attempt += 1
            warn(f"a dead letter for {self.topic} has to wait: {error.str()}")
            time.sleep(BACKOFF.delay_s(attempt))

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()

    def _make_topic(self) -> None:
        from kafkaesque.client.admin import Admin
        from kafkaesque.client.app.checks import make_topics

        admin = Admin.connect(self._connection)
        if all(each.name != self.topic for each in admin.topics()):
            make_topics(admin, [self.topic])
