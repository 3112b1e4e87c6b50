"""State as a log: appended, replayed, and kept short where it has no keys."""

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.faulty_files import FaultyFiles
from tests.unit.broker.state_logs import HeldFiles, Now, in_memory, on_disk

from kafkaesque.broker.state_log import Entry, StateLog
from kafkaesque.broker.storage import DiskStorage
from kafkaesque.errors import KafkaError
from kafkaesque.records.batch import BatchHeader
from kafkaesque.records.control import Marker


def replayed(log: StateLog) -> list[tuple[bytes, bytes | None]]:
    found: list[tuple[bytes, bytes | None]] = []
    log.replay(lambda key, value: found.append((key, value)))
    return found


def headers(log: StateLog) -> list[BatchHeader]:
    return [run.header for _, run in log.runs()]


def test_what_is_appended_is_replayed_in_order() -> None:
    async def work(log: StateLog, now: Now) -> None:
        await log.append([(b"k", b"1"), (None, b"2")])
        await log.append([])
        await log.append([(b"k", None)])
        assert replayed(log) == [(b"k", b"1"), (b"", b"2"), (b"k", None)]
        assert log.end_offset == 3

    in_memory(work)


def test_a_batch_of_a_transaction_says_whose_it_is() -> None:
    async def work(log: StateLog, now: Now) -> None:
        await log.append([(b"k", b"1")])
        await log.append([(b"k", b"2"), (b"l", b"3")], producer=(7, 2))
        plain, transactional = headers(log)
        assert (plain.producer_id, plain.producer_epoch, plain.is_transactional) == (-1, -1, False)
        assert transactional.is_transactional
        assert not transactional.is_control
        assert (transactional.producer_id, transactional.producer_epoch) == (7, 2)
        assert transactional.base_sequence == -1
        assert log.partition.is_open_for(7)
        assert log.partition.last_stable_offset == 1

    in_memory(work)


def test_markers_are_among_the_batches_and_not_among_the_records() -> None:
    async def work(log: StateLog, now: Now) -> None:
        await log.append([(b"k", b"1")], producer=(7, 2))
        log.partition.append_marker(7, 2, Marker.COMMIT)
        await log.append([(b"k", b"2")])
        assert [header.is_control for header in headers(log)] == [False, True, False]
        assert replayed(log) == [(b"k", b"1"), (b"k", b"2")]
        assert log.partition.last_stable_offset == 3

    in_memory(work)


def test_a_replay_reads_logs_of_many_megabytes() -> None:
    async def work(log: StateLog, now: Now) -> None:
        entries = [(b"%d" % i, b"v" * 1000) for i in range(3000)]
        for at in range(0, 3000, 500):
            await log.append(entries[at : at + 500])
        assert replayed(log) == entries

    in_memory(work)


def test_a_log_that_is_compacted_starts_with_its_live_state() -> None:
    async def work(log: StateLog, now: Now) -> None:
        for number in range(30):
            await log.append([(None, b"%d" % number * 50_000)])
        live: list[list[Entry]] = [[(None, b"live")], [(None, b"x" * 70_000)], [(None, b"last")]]
        assert log.is_long
        await log.compact(iter(live))
        assert replayed(log) == [(b"", b"live"), (b"", b"x" * 70_000), (b"", b"last")]
        assert not log.is_long

    in_memory(work)


def test_a_compaction_that_failed_is_tried_again_only_when_the_log_has_doubled(
    tmp_path: Path,
) -> None:
    """Each attempt appends: on a disk without room they would fill what is left of it."""

    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        for number in range(30):
            await log.append([(None, b"%d" % number * 50_000)])
        files.is_full = True
        with pytest.raises(KafkaError):
            await log.compact(iter([[(None, b"live")]]))
        files.is_full = False
        assert not log.is_long
        size = log.partition.log.size
        while log.partition.log.size < 2 * size:
            assert not log.is_long
            await log.append([(None, b"more" * 50_000)])
        assert log.is_long

    on_disk(tmp_path / "data", work)


def test_what_cannot_be_flushed_is_refused_and_not_replayed(tmp_path: Path) -> None:
    async def work(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        await log.append([(b"k", b"1")])
        files.fails_to_sync = True
        waiting = log.append_soon([(b"k", b"2")])
        assert waiting is not None
        with pytest.raises(KafkaError):
            await waiting
        with pytest.raises(KafkaError):
            log.append_soon([(b"k", b"3")])
        files.fails_to_sync = False
        await storage.revive()
        assert replayed(log) == [(b"k", b"1")]
        await log.append([(b"k", b"4")])
        await log.flushed()
        assert replayed(log) == [(b"k", b"1"), (b"k", b"4")]

    on_disk(tmp_path / "data", work)


def test_a_log_that_is_being_repaired_is_not_compacted(tmp_path: Path) -> None:
    """The repair has dropped the end of the log, where the live state would begin: after a kill,
    all that follows such a hole would be dropped.
    """

    async def work(log: StateLog, files: HeldFiles, storage: DiskStorage) -> None:
        await log.append([(b"k", b"1")])
        files.may_sync.clear()
        lost = log.append_soon([(b"k", b"2")])
        await files.fail(storage)
        files.may_sync.clear()
        files.is_syncing.clear()
        reviving = asyncio.ensure_future(storage.revive())
        while not files.is_syncing.is_set():
            await asyncio.sleep(0)
        with pytest.raises(KafkaError, match="offline"):
            await log.compact(iter([[(b"k", b"1")]]))
        files.may_sync.set()
        await asyncio.wait([reviving])
        assert lost is not None
        assert lost.exception()
        await log.append([(b"k", b"3")])
        shutil.copytree(tmp_path / "data", tmp_path / "killed")

    async def after_the_kill(log: StateLog, files: FaultyFiles, storage: DiskStorage) -> None:
        assert replayed(log) == [(b"k", b"1"), (b"k", b"3")]

    on_disk(tmp_path / "data", work, HeldFiles())
    on_disk(tmp_path / "killed", after_the_kill)
