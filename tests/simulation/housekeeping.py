"""What has to hold inside a broker that has been left alone for a while, with a good disk.

This looks at the broker's own objects and at its files: space that is not given back, a partition
that is offline for ever or a transaction that never ends cannot all be seen over the wire.
"""

from collections.abc import Iterator

from tests.simulation.files import SimulatedFiles

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.transactions.events import State

_DATA = "/data"
_AT_REST = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


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
