"""What the broker says in its log: a traceback is a failure, and so is an error without a cause.

A metadata log that could not be shortened has grown by the attempt: one that is made again before
the log has doubled would fill a disk that is nearly full.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.crash.power import is_of_the_cut

if TYPE_CHECKING:
    from tests.simulation.world import World

_LOGGER = logging.getLogger("kafkaesque")
_UNSHORTENED = "compact failed, and will be tried again"
_MOST_UNSHORTENED = 3
"""In one life of a broker, whose log does not double more often."""
_BACK = "is back online"


class Complaints(logging.Handler):
    def __init__(self, world: "World") -> None:
        super().__init__(logging.WARNING)
        self._world = world
        self._unshortened: Counter[int] = Counter()

    @contextmanager
    def heard(self) -> Iterator[None]:
        level, propagates = _LOGGER.level, _LOGGER.propagate
        _LOGGER.setLevel(logging.WARNING)
        _LOGGER.propagate = False
        _LOGGER.addHandler(self)
        try:
            yield
        finally:
            _LOGGER.removeHandler(self)
            _LOGGER.setLevel(level)
            _LOGGER.propagate = propagates

    def emit(self, record: logging.LogRecord) -> None:
        world = self._world
        if world.files.is_off:
            return
        message = record.getMessage()
        world.history.note("log", f"{record.levelname} {message}")
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not is_of_the_cut(error):
            world.fail(f"a traceback in the log: {message}: {error!r}")
        elif record.levelno >= logging.ERROR and not world.files.fired:
            world.fail(f"an error without a fault: {message}")
        elif _BACK in message and not self._has_partition(message.split()[0]):
            world.fail(f"{message}, and its topic is deleted")
        if message.startswith(_UNSHORTENED):
            self._count_unshortened()

    def _count_unshortened(self) -> None:
        life = self._world.lives
        self._unshortened[life] += 1
        if self._unshortened[life] > _MOST_UNSHORTENED:
            self._world.fail("the metadata log is written anew again and again on a bad disk")

    def _has_partition(self, name: str) -> bool:
        broker = self._world.server.broker
        partitions = [partition for topic in broker.topics for partition in topic.partitions]
        return name in map(str, [broker.metadata.partition.name, *(p.name for p in partitions)])
