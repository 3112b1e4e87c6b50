"""What has to hold inside a broker that has been left alone for a while, with a good disk; and what
has to be done soon, whatever becomes of other partitions.

This looks at the broker's own objects and at its files: space that is not given back, a partition
that is offline for ever or a transaction that never ends cannot all be seen over the wire.
"""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tests.simulation.files import SimulatedFiles

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.transactions.events import State

if TYPE_CHECKING:
    from tests.simulation.world import World

_DATA = "/data"
_AT_REST = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


_LOOK_SECONDS = 1.0
_ROUNDS = 2
"""Of the broker's regular work: so long it may take."""


def problems_at_rest(broker: Broker, files: SimulatedFiles) -> Iterator[str]:
    for partition in broker.storage.offline():
        yield f"{partition.name} is offline for ever: {partition.offline}"
    for transaction in broker.transactions.table.transactions.values():
        if transaction.state not in _AT_REST:
            yield f"{transaction.transactional_id} is in state {transaction.state.name} for ever"
    yield from _strays(broker, files)
    for topic in broker.topics:
        if topic.config != broker.topics.effective(topic.name, topic.overrides):
            yield f"{topic.name} does not go by the settings that it shows"
        for partition in topic.partitions:
            yield from files_left(partition, files)
            if partition.config != topic.config:
                yield f"{partition.name} does not go by the settings of its topic"
            cleaned = broker.storage.cleaned_offsets.get(partition.name, 0)
            if cleaned > partition.log.end_offset:
                yield f"{partition.name} is compacted up to {cleaned}, beyond its end"


def files_left(partition: Partition, files: SimulatedFiles) -> Iterator[str]:
    """Files of segments that are gone."""
    log = partition.log
    known = {segment.base_offset for segment in log.sealed} | {log._active.base_offset}
    for name in sorted(files.names(f"{_DATA}/{partition.name}")):
        if name.endswith(".log") and int(name[:20]) not in known:
            yield f"{partition.name} has not removed {name}; it starts at {log.log_start_offset}"


def _strays(broker: Broker, files: SimulatedFiles) -> Iterator[str]:
    known = {str(partition.name) for topic in broker.topics for partition in topic.partitions}
    known.add("__cluster_metadata-0")
    for name in sorted(files.names(_DATA)):
        if files.is_directory(f"{_DATA}/{name}") and name not in known:
            yield f"{name[:40]} is left on the disk, and belongs to no topic"


class _Due(NamedTuple):
    """Work that the broker has with a directory. It is another's once `state` has changed."""

    directory: str
    what: str
    state: object = None
    needs_room: bool = False
    """A full disk keeps the broker from it."""


class Patrol:
    """Looks in on a broker: is anything due for long, of a directory whose files are all right?"""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._since: dict[_Due, float] = {}
        self._faults_seen = 0

    async def walk(self) -> None:
        while not self._world.is_stopping:
            await asyncio.sleep(_LOOK_SECONDS)
            self._look()

    def _look(self) -> None:
        now = self._world.loop.time()
        faults = self._world.files.fired[self._faults_seen :]
        self._faults_seen += len(faults)
        is_slow = any(fault.kind in ("slow", "late") for fault, _ in faults)
        full = {_directory(path) for fault, path in faults if fault.kind == "full"}
        broken = {_directory(path) for fault, path in faults if fault.kind != "full"}
        since = {}
        for due in self._due():
            lacks_room = due.needs_room and due.directory in full
            is_excused = is_slow or lacks_room or due.directory in broken
            since[due] = now if is_excused else self._since.get(due, now)
        self._since = since
        soon = self._soon()
        for due, began in since.items():
            if now - began > soon:
                what = f"{due.directory[:40]} {due.what} for {soon} s"
                self._world.fail(f"{what}, and its files are all right")

    def _soon(self) -> float:
        config = self._world.server.broker.config
        checkpoints_ms = config["log.flush.offset.checkpoint.interval.ms"]
        retention_ms = config["log.retention.check.interval.ms"]
        return _ROUNDS * float(checkpoints_ms + retention_ms) / 1000

    def _due(self) -> Iterator[_Due]:
        broker = self._world.server.broker
        for topic in broker.topics:
            for partition in topic.partitions:
                if partition.offline is None:
                    yield from self._due_of(partition)
        for name in sorted(self._world.files.names(_DATA)):
            if name.endswith("-delete"):
                yield _Due(name, "is deleted and has not been removed")

    def _due_of(self, partition: Partition) -> Iterator[_Due]:
        name, log = str(partition.name), partition.log
        if partition.has_moved:
            what = "has had no checkpoint"
            yield _Due(name, what, log.recovery_point, needs_room=True)
        if log.log_start_offset <= log.recovery_point:
            for problem in files_left(partition, self._world.files):
                yield _Due(name, "has not removed a segment", problem)
        if _is_too_long(partition):
            what = "is longer than retention.bytes allows"
            yield _Due(name, what, log.log_start_offset)


def _directory(path: str) -> str:
    return path.removeprefix(f"{_DATA}/").partition("/")[0]


def _is_too_long(partition: Partition) -> bool:
    log = partition.log
    if "delete" not in partition.config.cleanup_policy or not log.sealed:
        return False
    first, limit = log.sealed[0], log.config.retention_bytes
    return 0 <= limit <= log.size - first.size and first.next_offset <= log.flushed_offset
