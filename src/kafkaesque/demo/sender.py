"""Ticks into a topic of any cluster, at a pace, for as long as the caller asks for the next slice.

The ticker is the key, placed by murmur2 as Kafka's own clients place it. A broker that goes away
does not end it: librdkafka keeps what is unacknowledged and sends it once, when the broker is back;
`tell` is given a sentence at each turn. Above: cli/demo.py. Below: client, ticks.py, pace.py.
"""

import math
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from confluent_kafka import KafkaError, Producer

from kafkaesque.client.absence import Absence
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.demo.pace import Pace
from kafkaesque.demo.ticks import Encode, Tick

_LONGEST_WAIT_S = 0.1
_LONGEST_QUEUE = 100_000


class Sender:
    """`delivered` is what the cluster has acknowledged; `failed` what it has refused for good,
    and `reason` why the last of them.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        tell: Callable[[str], None],
        encode: Encode = Tick.to_json,
    ) -> None:
        self.topic = topic
        self._encode = encode
        self.delivered = 0
        self.failed = 0
        self.reason: str | None = None
        self._absence = Absence(connection, tell, "what is unsent waits for it")
        self._fatal: KafkaError | None = None
        settings = connection.config(
            partitioner="murmur2_random",
            enable_idempotence=True,
            linger_ms=5,
            queue_buffering_max_messages=_LONGEST_QUEUE,
            # For ever: a broker that is away for an hour costs no tick that was sent.
            message_timeout_ms=0,
            reconnect_backoff_max_ms=1000,
        )
        self._producer = Producer({**settings, "error_cb": self._note_error})

    @property
    def waiting(self) -> int:
        """How many are sent and not acknowledged."""
        return len(self._producer)

    def run(self, ticks: Iterator[Tick], pace: Pace, num: int | None = None) -> Iterator[None]:
        """Send `num`, or for ever, and yield after each slice: who asks no more, stops it."""
        left = math.inf if num is None else num
        while True:
            left -= self._send_slice(ticks, pace, left)
            if not left:
                return
            yield
            self._producer.poll(min(pace.wait_s(time.monotonic()), _LONGEST_WAIT_S))

    def drain(self) -> Iterator[None]:
        """Wait for what is not acknowledged, and yield ten times a second meanwhile."""
        while self._producer.flush(_LONGEST_WAIT_S):
            yield

    def _send_slice(self, ticks: Iterator[Tick], pace: Pace, most: float) -> int:
        """How many were sent. A full queue leaves the rest of the slice undone."""
        room = _LONGEST_QUEUE - len(self._producer)
        count = int(min(pace.due(time.monotonic()), most, room))
        for tick in islice(ticks, count):
            self._producer.produce(
                self.topic, self._encode(tick), key=tick.ticker, on_delivery=self._note_delivery
            )
        pace.take(count)
        self._producer.poll(0)
        if self._fatal is not None:
            why = self._fatal.str()
            raise ClusterError(f"the cluster refuses this producer ({why}): start it again")
        return count

    def _note_delivery(self, error: KafkaError | None, _message: Any) -> None:
        if error is None:
            self.delivered += 1
            self._absence.end()
        else:
            self.failed += 1
            self.reason = error.str()

    def _note_error(self, error: KafkaError) -> None:
        if error.fatal():
            # Not raised here: librdkafka's Python side may lose what a callback raises.
            self._fatal = error
        else:
            self._absence.note(error)
