"""What a failed flush and its repair drop, for writers in the broker's process."""

import asyncio
import errno
from pathlib import Path

import pytest
from tests.held_disk import settled
from tests.unit.broker.broker_rig import BrokerRig, run
from tests.unit.embedded.shelves import ShelfInMemory

from kafkaesque.embedded.bounds import Bounds
from kafkaesque.embedded.node import NewEvent, Node
from kafkaesque.embedded.stale import open_shelf
from kafkaesque.errors import KafkaError
from kafkaesque.records.murmur2 import partition_for_key

EIO = OSError(errno.EIO, "Input/output error")


def test_a_put_of_which_a_repair_has_dropped_a_part_fails(tmp_path: Path) -> None:
    """Though all was well again when the flush of its other part came to its end."""

    async def work(rig: BrokerRig) -> None:
        _, failing = (await rig.topic("orders", 2)).partitions
        keys = {partition_for_key(key, 2): key for key in (b"%d" % n for n in range(50))}
        node = Node(rig.broker, 2, None)
        rig.disk.is_held = True
        events = [NewEvent(keys[0], b"a"), NewEvent(keys[1], b"b")]
        put = asyncio.ensure_future(node.append("orders", events))
        await settled()
        fail, end_slow_flush = rig.disk.hold_back(EIO), rig.disk.hold_back()
        fail()
        await settled()
        rig.disk.is_held = False
        await rig.broker.storage.revive()
        assert failing.offline is None
        end_slow_flush()
        with pytest.raises(KafkaError):
            await put

    run(tmp_path, work)


def test_stale_events_are_put_away_when_they_are_durable(tmp_path: Path) -> None:
    """A repair would give their offsets to others, and the shelf has each offset once."""

    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders", write_caching="true")).partition(0)
        shelf = ShelfInMemory()
        bounds = Bounds(2, 1, shelf)
        rig.disk.is_held = True
        for _ in range(3):
            rig.append(partition)
        bounded = asyncio.ensure_future(bounds.enforce(rig.broker, [partition]))
        await settled()
        rig.disk.let_go(EIO)
        rig.disk.is_held = False
        await bounded
        assert shelf.events == []
        await rig.broker.storage.revive()
        for _ in range(3):
            rig.append(partition)
        await bounds.enforce(rig.broker, [partition])
        assert [event.offset for event in shelf.events] == [0]
        assert partition.log.log_start_offset == 1

    run(tmp_path, work)


@pytest.mark.parametrize("name", ["x.csv", "x.sqlite"])
def test_what_was_put_away_when_the_partition_went_offline_is_put_away_once(
    tmp_path: Path, name: str
) -> None:
    async def work(rig: BrokerRig) -> None:
        partition = (await rig.topic("orders")).partition(0)
        await rig.fill(partition, 3)
        shelf = open_shelf(tmp_path / name, is_durable=True)
        bounds = Bounds(2, 1, shelf)
        rig.disk.is_held = True
        bounded = asyncio.ensure_future(bounds.enforce(rig.broker, [partition]))
        await settled()
        rig.append(partition)
        rig.disk.hold_back(EIO)()
        await settled()
        assert partition.offline is not None
        rig.disk.let_go()
        rig.disk.is_held = False
        await bounded
        assert [row.offset for row in shelf.rows("orders")] == [0]
        await rig.broker.storage.revive()
        await bounds.enforce(rig.broker, [partition])
        assert [row.offset for row in shelf.rows("orders")] == [0]
        assert partition.log.log_start_offset == 1

    run(tmp_path / "data", work)
