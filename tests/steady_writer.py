"""A producer that writes 0, 1, 2, … without a pause, and notes what was acknowledged where.

Idempotent. Whatever happens to the broker meanwhile: once the writer has ended, the partition must
hold exactly these numbers in this order, each acknowledged one at its offset.
"""

import threading
import time
from types import TracebackType
from typing import Any

from confluent_kafka import Message, Producer

_TIMEOUT_S = 60.0


class SteadyWriter:
    """Writes from `with` to its end, which waits for every last acknowledgement."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: dict[int, bytes] = {}
        self.errors: list[Any] = []
        self._topic = topic
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )

    def wait_for(self, count: int) -> None:
        """Return when so many more have been acknowledged."""
        goal = len(self.acknowledged) + count
        deadline = time.monotonic() + _TIMEOUT_S
        while len(self.acknowledged) < goal:
            assert time.monotonic() < deadline, f"{len(self.acknowledged)} of {goal}: {self.errors}"
            time.sleep(0.01)

    def _write(self) -> None:
        number = 0
        while not self._stopping.is_set():
            self._producer.produce(
                self._topic, b"%d" % number, partition=0, on_delivery=self._delivered
            )
            number += 1
            self._producer.poll(0.001)

    def _delivered(self, error: Any, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.acknowledged[message.offset() or 0] = message.value() or b""

    def __enter__(self) -> "SteadyWriter":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()
        left = self._producer.flush(_TIMEOUT_S)
        assert kind is not None or (left, self.errors) == (0, [])
