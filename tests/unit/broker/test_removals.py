"""Files of deleted partitions are removed one directory at a time, whoever deletes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import pytest
from tests.faulty_files import FaultyFiles
from tests.held_disk import HeldDisk, settled

from kafkaesque.broker import upkeep
from kafkaesque.broker.removals import Removals
from kafkaesque.log.directory import DataDirectory
from kafkaesque.types import TopicPartition


class _Files(FaultyFiles):
    def __init__(self) -> None:
        super().__init__()
        self.removed: list[str] = []

    def remove_tree(self, path: str) -> None:
        self.removed.append(path)
        super().remove_tree(path)


class _Rig:
    """The directories of a large topic and of a small one, put aside."""

    def __init__(self, path: Path) -> None:
        self.files = _Files()
        self.disk = HeldDisk(asyncio.get_running_loop())
        self.directory = DataDirectory.open(self.files, str(path))
        self.removals = Removals(self.directory, self.disk)
        self.large = self._put_aside("large", 3)
        self.small = self._put_aside("small", 1)

    def _put_aside(self, topic: str, partitions: int) -> list[str]:
        names = [TopicPartition(topic, number) for number in range(partitions)]
        for name in names:
            self.directory.create_partition(name, UUID(int=1))
        return self.directory.delete_partitions(names)


def _run(path: Path, work: Callable[[_Rig], Awaitable[None]]) -> None:
    async def main() -> None:
        rig = _Rig(path)
        await work(rig)
        assert rig.directory.is_tidy
        assert sorted(rig.files.removed) == rig.large + rig.small
        rig.directory.close(clean=False)

    asyncio.run(main())


def test_deletions_take_turns_in_one_thread(tmp_path: Path) -> None:
    """A small one does not wait until a large one is through."""

    async def work(rig: _Rig) -> None:
        rig.disk.is_held = True
        large = asyncio.ensure_future(rig.removals.remove(rig.large))
        small = asyncio.ensure_future(rig.removals.remove(rig.small))
        for _ in range(2):
            await settled()
            rig.disk.let_go()
            assert not rig.disk.waits
        await settled()
        assert small.done()
        assert len(rig.files.removed) == 2
        await rig.disk.let_all_go()
        await large

    _run(tmp_path, work)


def test_what_a_deletion_is_about_to_remove_is_left_to_it(tmp_path: Path) -> None:
    async def work(rig: _Rig) -> None:
        rig.disk.is_held = True
        removing = asyncio.ensure_future(rig.removals.remove(rig.large))
        await settled()
        go_on = rig.disk.hold_back()
        rig.disk.is_held = False
        rest = asyncio.ensure_future(rig.removals.remove_rest())
        await settled()
        go_on()
        await asyncio.gather(removing, rest)

    _run(tmp_path, work)


def test_a_directory_that_hangs_holds_up_no_other_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "PATIENCE_SECONDS", 0.0)

    async def work(rig: _Rig) -> None:
        rig.disk.is_held = True
        large = asyncio.ensure_future(rig.removals.remove(rig.large[:1]))
        await settled()
        go_on = rig.disk.hold_back()
        rig.disk.is_held = False
        await rig.removals.remove(rig.small)
        await settled()
        assert rig.files.removed == rig.small
        await large
        go_on()
        await rig.removals.remove_rest()
        await rig.removals.ended()

    _run(tmp_path, work)
