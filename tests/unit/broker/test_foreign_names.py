"""What somebody else has put into the data directory: it stops no start, and stays."""

from pathlib import Path

import pytest
from tests.unit.broker.broker_rig import BrokerRig, run

IN_A_PARTITION = ["copy.log.swap", "copy.log", "notes.tmp", "a" * 20 + ".log", ".DS_Store"]
DIRECTORIES = [
    "backup-2024",
    "orders-00",
    "orders-01",
    "photos-\u0661",
    "-1",
    "photos-delete",
    "orders-0.copy-delete",
    "photos",
    "x-" + "9" * 200,
]
FILES = ["notes-1", "notes.tmp", "meta.properties.bak", ".DS_Store"]


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_is_not_ours_stops_no_start_and_stays(tmp_path: Path, is_killed: bool) -> None:
    async def work(rig: BrokerRig) -> None:
        await rig.fill((await rig.topic("orders")).partition(0))
        await rig.broker.close()
        if is_killed:
            (tmp_path / ".kafka_cleanshutdown").unlink()
        foreign = [tmp_path / "orders-0" / name for name in IN_A_PARTITION]
        foreign += [tmp_path / name / "photo.jpg" for name in DIRECTORIES]
        foreign += [tmp_path / name for name in FILES]
        for path in foreign:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"foreign")
        broker = await rig.open()
        partition = broker.topics.named("orders").partition(0)
        assert (partition.offline, partition.high_watermark) == (None, 10)
        await broker.storage.checkpoint_log_starts()
        await broker.storage.checkpoint()
        await rig.reopen()
        assert [path for path in foreign if not path.exists()] == []

    run(tmp_path, work)
