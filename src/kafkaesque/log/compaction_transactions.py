"""What compaction has to know of producers and transactions, as it goes through a log.

A batch of an aborted transaction goes. A marker may go once nothing of its transaction is left: it
is asked in the order of the log, so what was seen of a producer since its last marker belongs to
this one. What a producer's state is read from after a restart stays, if only as an empty header:
the batch with its last sequence, or, where its last epoch came with a marker, the markers of that
epoch.
Above: compaction.py. Below: producer_state.py.
"""

import struct
from bisect import bisect_right
from collections.abc import Mapping

from kafkaesque.log.producer_state import epoch, last_batch
from kafkaesque.records.batch import BatchHeader

_ABORTED = struct.Struct(">qqq")


class TransactionsPassed:
    def __init__(self, producers: Mapping[int, bytes]) -> None:
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        self._producers = producers
        self._unended: set[int] = set()

    def know(self, aborted: bytes) -> None:
        """Some of those that were aborted, packed as in `Rules`."""
        for producer_id, first_offset, last_offset in _ABORTED.iter_unpack(aborted):
            self._aborted.setdefault(producer_id, []).append((first_offset, last_offset))

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether these records are part of a transaction that was aborted."""
        if not header.is_transactional or header.producer_id not in self._aborted:
            return False
        transactions = self._aborted[header.producer_id]
        number = bisect_right(transactions, header.base_offset, key=lambda t: t[0]) - 1
        return number >= 0 and header.base_offset < transactions[number][1]

    def passed(self, header: BatchHeader) -> None:
        """A batch of records was in the log, with or without what is left of them now."""
        if header.is_transactional:
            self._unended.add(header.producer_id)

    def ended(self, header: BatchHeader) -> bool:
        """A marker was in the log: whether nothing of its transaction was before it."""
        if header.producer_id in self._unended:
            self._unended.remove(header.producer_id)
            return False
        return True

    def is_needed(self, header: BatchHeader) -> bool:
        """Whether the state of a producer is read from this header."""
        state = self._producers.get(header.producer_id)
        if state is None:
            return False
        if last := last_batch(state):
            return last.last_offset == header.last_offset
        return header.is_control and epoch(state) == header.producer_epoch
