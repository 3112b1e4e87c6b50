"""Logs of `__consumer_offsets` for tests: batches as the broker writes them, and their replay."""

from collections.abc import Iterable
from itertools import count

from kafkaesque.groups.group import GroupConfig
from kafkaesque.groups.replay import Replay
from kafkaesque.groups.table import GroupTable
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.records.control import Marker, new_marker
from kafkaesque.records.entries import runs
from kafkaesque.types import Moment

NOW = 1_000_000


def batch(
    at: int, entries: Iterable[tuple[bytes, bytes | None]], producer_id: int | None = None
) -> bytes:
    """With a producer id: of its transaction."""
    records = [Record(at + i, 0, key, value) for i, (key, value) in enumerate(entries)]
    if producer_id is None:
        return bytes(new_batch(records, base_offset=at))
    return bytes(
        new_batch(
            records, base_offset=at, producer_id=producer_id, producer_epoch=0, transactional=True
        )
    )


def marker(at: int, producer_id: int, *, commit: bool) -> bytes:
    return bytes(new_marker(at, producer_id, 0, Marker.COMMIT if commit else Marker.ABORT, 0))


def new_table() -> GroupTable:
    ids = count(1)
    return GroupTable(GroupConfig(initial_rebalance_delay_ms=0), lambda: str(next(ids)))


def replayed(*batches: bytes) -> GroupTable:
    table = new_table()
    replay = Replay(table)
    data = b"".join(batches)
    for run in runs(data):
        replay.take(data, run)
    replay.finish(Moment(NOW, NOW))
    return table
