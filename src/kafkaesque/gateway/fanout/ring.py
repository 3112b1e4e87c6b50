"""Memory for what slow subscriptions have not taken yet: one bound for all of them together.

A slow subscription holds references to deliveries, and the ring their bytes. When it is full, the
oldest delivery loses its record, whoever still waits for it: they learn that they missed it.
Above: backlog.py. Below: delivery.py.
"""

from collections import deque

from kafkaesque.gateway.fanout.delivery import Delivery

_OVERHEAD_BYTES = 300
"""Of the objects around a record, as measured with 512-byte values."""


class Ring:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: deque[Delivery] = deque()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, delivery: Delivery) -> None:
        if delivery.is_kept:
            return
        delivery.is_kept = True
        self._kept.append(delivery)
        self.bytes += _size(delivery)
        while self.bytes > self._max_bytes:
            self._let_go(self._kept.popleft())

    def sweep(self) -> None:
        """Forget the oldest as far as nobody waits for them any more."""
        while self._kept and not self._kept[0].waiting:
            self._let_go(self._kept.popleft())

    def _let_go(self, delivery: Delivery) -> None:
        self.bytes -= _size(delivery)
        delivery.drop()


def _size(delivery: Delivery) -> int:
    return delivery.size + _OVERHEAD_BYTES
