"""Transactions on a disk that fails while they end: whole or not at all, and some time they end."""

import asyncio
from pathlib import Path

import pytest
from tests.unit.broker.brokers import PathFiles, new_topic, time_passes, until, with_broker, write
from tests.unit.broker.ending_transactions import (
    STRANGER,
    TIMEOUT_MS,
    Unopened,
    begin,
    come_back,
    end,
    end_and_rest,
    is_committed,
    state,
    ticked,
)
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.records.control import Marker
from kafkaesque.transactions.events import State
from kafkaesque.types import TopicPartition

WEEK_MS = 7 * 24 * 3600 * 1000


@pytest.mark.parametrize("bumps", [True, False])
def test_a_marker_in_flight_is_waited_for_when_another_partition_has_failed(
    tmp_path: Path, bumps: bool
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a, b = await new_topic(broker, "a"), await new_topic(broker, "b")
        whose = await begin(broker, a, b)
        files.full.add("/a-0/")
        files.held.add("/b-0/")
        assert await end(broker, whose, commit=True, bumps=bumps) is ErrorCode.NONE
        files.full.clear()
        await broker.transactions.tick()
        await until(lambda: is_committed(a) and a.high_watermark == a.log.end_offset)
        assert state(broker) is State.PREPARE_COMMIT
        files.unsynced.add("/b-0/")
        files.release()
        await until(lambda: b.offline is not None)
        files.mend()
        await ticked(broker, lambda: state(broker) is State.COMPLETE_COMMIT)
        await broker.storage.revive()
        assert is_committed(a)
        assert is_committed(b)

    with_broker(tmp_path / "data", work)

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        assert is_committed(broker.topics.named("a").partition(0))
        assert is_committed(broker.topics.named("b").partition(0))

    with_broker(tmp_path / "data", after)


def test_pending_offsets_are_decided_though_the_marker_was_lost(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        whose = await begin(broker, a)
        offsets = broker.topics.named(OFFSETS_TOPIC).partition(0)
        broker.transactions.admit("t", *whose, offsets.name, adds=True)
        await broker.coordinator.commit_in_transaction("g", *whose, {a.name: CommittedOffset(1)})
        files.full.add("/a-0/")
        files.held.add(OFFSETS_TOPIC)
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        files.full.clear()
        await broker.transactions.tick()
        files.unsynced.add(OFFSETS_TOPIC)
        files.release()
        await until(lambda: offsets.offline is not None)
        assert broker.coordinator.table.offsets.is_pending("g", a.name)
        files.mend()
        await ticked(broker, lambda: state(broker) is State.COMPLETE_COMMIT)
        assert broker.coordinator.table.offsets.fetch("g", a.name) == CommittedOffset(1)

    with_broker(tmp_path / "data", work)


def test_markers_are_on_disk_even_where_writes_are_cached(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await broker.topics.configure(broker.topics.named("a"), lambda: {"write.caching": "true"})
        whose = await begin(broker, a)
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        assert a.log.flushed_offset == a.log.end_offset

    with_broker(tmp_path / "data", work)


def test_an_administrator_is_answered_when_the_marker_of_somebody_else_is_durable(
    tmp_path: Path,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await write(a, STRANGER, 0)
        files.held.add("/a-0/")
        a.append_marker(STRANGER, 0, Marker.ABORT)
        files.unsynced.add("/a-0/")
        files.release()
        with pytest.raises(KafkaError):
            await broker.transactions.end_in(a.name, STRANGER, 0, commit=False)
        with pytest.raises(KafkaError):
            await broker.transactions.end_in(a.name, STRANGER, 0, commit=False)
        files.mend()
        await broker.storage.revive()
        assert a.is_open_for(STRANGER)
        await broker.transactions.end_in(a.name, STRANGER, 0, commit=False)
        assert a.aborted(0, 1_000)
        assert a.log.flushed_offset == a.log.end_offset

    with_broker(tmp_path / "data", work)


def leave_open_records_of_nobody(path: Path) -> None:
    """In `a`, by a producer of whom no transaction knows."""

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await begin(broker)
        await write(await new_topic(broker, "a"), STRANGER, 0)

    with_broker(path / "data", work)


@pytest.mark.parametrize("fault", ["full", "unsynced"])
def test_open_records_of_nobody_are_aborted_even_if_the_start_could_not(
    tmp_path: Path, fault: str
) -> None:
    leave_open_records_of_nobody(tmp_path)

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = broker.topics.named("a").partition(0)
        if fault == "unsynced":
            await until(lambda: a.offline is not None)
        with pytest.raises(KafkaError) as refused:
            broker.transactions.admit("s", STRANGER, 1, a.name, adds=True)
        assert refused.value.code is ErrorCode.CONCURRENT_TRANSACTIONS
        files.mend()
        await ticked(broker, lambda: a.offline is None and not a.open_transactions())
        assert [aborted.producer_id for aborted in a.aborted(0, 1_000)] == [STRANGER]

    files = PathFiles()
    getattr(files, fault).add("/a-0/")
    with_broker(tmp_path / "data", work, files=files)


@pytest.mark.parametrize("fault", ["full", "unsynced"])
def test_a_transaction_that_timed_out_is_aborted_though_the_decision_could_not_be_stored(
    tmp_path: Path, fault: str
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await begin(broker, a)
        getattr(files, fault).add(TRANSACTIONS_TOPIC)
        time_passes(now, TIMEOUT_MS)
        await broker.transactions.tick()
        await until(lambda: broker.transactions._desks["t"].is_doubtful)
        await broker.transactions.tick()
        files.mend()
        await ticked(broker, lambda: state(broker) is State.COMPLETE_ABORT)
        assert a.last_stable_offset == a.high_watermark
        assert a.aborted(0, 1_000)

    with_broker(tmp_path / "data", work)


@pytest.mark.parametrize("fault", ["full", "unsynced"])
def test_an_id_whose_tombstone_could_not_be_stored_is_there_and_expires_later(
    tmp_path: Path, fault: str
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        whose = await begin(broker)
        getattr(files, fault).add(TRANSACTIONS_TOPIC)
        now.ms += WEEK_MS
        await broker.transactions.tick()
        await until(lambda: broker.transactions._desks["t"].is_doubtful)
        name = TopicPartition("a", 0)
        refused = await broker.transactions.verify("t", *whose, [name])
        assert refused is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert broker.transactions.table.get("t") is not None
        files.mend()
        await ticked(broker, lambda: broker.transactions.table.get("t") is None)

    with_broker(tmp_path / "data", work)

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        assert not broker.transactions.table.transactions

    with_broker(tmp_path / "data", after)


def test_an_id_is_there_until_its_tombstone_is_durable(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await begin(broker)
        files.held.add(TRANSACTIONS_TOPIC)
        now.ms += WEEK_MS
        await broker.transactions.tick()
        assert broker.transactions.table.get("t") is not None
        files.release()
        await until(lambda: broker.transactions.table.get("t") is None)

    with_broker(tmp_path / "data", work)


def test_many_doubtful_transactions_are_read_in_one_pass(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        ids = [f"t{number}" for number in range(20)]
        for name in ids:
            await broker.transactions.init(name, TIMEOUT_MS, -1, -1)
        files.full.add(TRANSACTIONS_TOPIC)
        for name in ids:
            refused = await broker.transactions.init(name, TIMEOUT_MS, -1, -1)
            assert refused.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        files.mend()
        files.read_bytes.clear()
        await broker.transactions.tick()
        read = sum(n for path, n in files.read_bytes.items() if TRANSACTIONS_TOPIC in path)
        assert read <= 2 * broker.topics.named(TRANSACTIONS_TOPIC).partition(0).log.size
        for name in ids:
            again = await broker.transactions.init(name, TIMEOUT_MS, -1, -1)
            assert (again.error, again.producer_epoch) == (ErrorCode.NONE, 1)

    with_broker(tmp_path / "data", work)


def test_what_is_open_in_a_partition_that_could_not_be_opened_ends_with_its_transaction(
    tmp_path: Path,
) -> None:
    story = Unopened(tmp_path)

    async def work(broker: Broker, b: Partition, files: PathFiles) -> None:
        await come_back(broker, b, files)
        assert b.open_transactions()
        assert await end(broker, story.identity, commit=True) is ErrorCode.NONE
        assert is_committed(b)

    story.start(work)


def test_what_is_open_in_a_partition_that_could_not_be_opened_and_is_nobodys_is_aborted(
    tmp_path: Path,
) -> None:
    async def work(broker: Broker, b: Partition, files: PathFiles) -> None:
        await come_back(broker, b, files)
        assert not is_committed(b)

    Unopened(tmp_path, (STRANGER, 0)).start(work)


@pytest.mark.parametrize("bumps", [True, False])
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_that_ends_before_all_of_its_partitions_can_be_opened_ends_whole(
    tmp_path: Path, commit: bool, bumps: bool
) -> None:
    """Whatever becomes of the one after it, which may have the same epoch."""
    story = Unopened(tmp_path)

    async def work(broker: Broker, b: Partition, files: PathFiles) -> None:
        a = broker.topics.named("a").partition(0)
        first = await broker.transactions.end("t", *story.identity, commit, bumps, connection=0)
        assert first.error is ErrorCode.NONE
        whose = (first.producer_id, first.producer_epoch) if bumps else story.identity
        async with asyncio.timeout(60):
            await until(lambda: not broker.transactions._desks)
        broker.transactions.admit("t", *whose, a.name, adds=True)
        await write(a, *whose)
        assert await end(broker, whose, commit=not commit, bumps=bumps) is ErrorCode.NONE
        await come_back(broker, b, files)
        async with asyncio.timeout(60):
            await until(lambda: not b.open_transactions())
        assert is_committed(b) == commit

    story.start(work)


@pytest.mark.parametrize("bumps", [True, False])
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("fault", [None, "unsynced"])
def test_a_partition_that_comes_while_its_transaction_is_decided_ends_with_it(
    tmp_path: Path, fault: str | None, commit: bool, bumps: bool
) -> None:
    story = Unopened(tmp_path)

    async def work(broker: Broker, b: Partition, files: PathFiles) -> None:
        a = broker.topics.named("a").partition(0)
        files.held.add(TRANSACTIONS_TOPIC)
        ending = asyncio.create_task(end(broker, story.identity, commit=commit, bumps=bumps))
        async with asyncio.timeout(60):
            await until(lambda: broker.transactions._desks)
            files.broken.clear()
            await broker.storage.revive()
            assert b.open_transactions()
            with pytest.raises(KafkaError):
                broker.transactions.admit("t", *story.identity, b.name, adds=True)
            if fault is not None:
                files.unsynced.add(TRANSACTIONS_TOPIC)
            files.release()
            refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert await ending is (ErrorCode.NONE if fault is None else refused)
            files.mend()
            if fault is not None:
                await ticked(broker, lambda: not broker.transactions._desks)
                again = await end(broker, story.identity, commit=commit, bumps=bumps)
                assert again is ErrorCode.NONE
            await ticked(broker, lambda: not b.open_transactions())
        assert not a.open_transactions()
        assert is_committed(a) == commit
        assert is_committed(b) == commit

    story.start(work)


@pytest.mark.parametrize("marker", Marker)
def test_an_end_that_is_answered_as_a_repetition_holds_for_what_cannot_be_opened(
    tmp_path: Path, marker: Marker
) -> None:
    """The producer means the next transaction, of which only `b` knows. One more follows, which
    ends otherwise.
    """
    story = Unopened(tmp_path, ended=marker)
    other = Marker.ABORT if marker is Marker.COMMIT else Marker.COMMIT

    async def work(broker: Broker, b: Partition, files: PathFiles) -> None:
        a = broker.topics.named("a").partition(0)
        await end_and_rest(broker, story.identity, marker)
        broker.transactions.admit("t", *story.identity, a.name, adds=True)
        await end_and_rest(broker, story.identity, other)
        await come_back(broker, b, files)
        async with asyncio.timeout(60):
            await until(lambda: not b.open_transactions())
        assert is_committed(b) == (marker is Marker.COMMIT)

    story.start(work)


@pytest.mark.parametrize("marker", Marker)
def test_a_later_transaction_does_not_end_what_an_older_one_has_left_in_a_partition(
    tmp_path: Path, marker: Marker
) -> None:
    """Though it has the partition, and ends before the older one's marker could be written."""
    story = Unopened(tmp_path)
    other = Marker.ABORT if marker is Marker.COMMIT else Marker.COMMIT

    async def work(broker: Broker, b: Partition, files: PathFiles) -> None:
        await end_and_rest(broker, story.identity, marker)
        added = await broker.transactions.add("t", *story.identity, [b.name], connection=0)
        assert added is ErrorCode.NONE
        files.broken.clear()
        await broker.storage.revive()
        await end_and_rest(broker, story.identity, other)
        assert not b.open_transactions()
        assert is_committed(b) == (marker is Marker.COMMIT)
        await broker.transactions.tick()
        assert not broker.transactions._orphans

    story.start(work)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("opens", [True, False])
def test_what_was_decided_holds_after_a_restart_for_what_could_not_be_opened_before(
    tmp_path: Path, opens: bool, commit: bool
) -> None:
    """If the ending has raised the epoch: otherwise nothing tells it from the next transaction."""
    story = Unopened(tmp_path)
    story.write()

    async def decide(broker: Broker, files: PathFiles, now: Now) -> None:
        assert await end(broker, story.identity, commit=commit) is ErrorCode.NONE

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        a, b = (broker.topics.named(name).partition(0) for name in "ab")
        assert (b.offline is None) == opens
        if not opens:
            await begin(broker, a)
        async with asyncio.timeout(60):
            files.broken.clear()
            await ticked(broker, lambda: b.offline is None and not b.open_transactions())
        assert is_committed(b) == commit

    story.start_again(decide)
    if opens:
        with_broker(tmp_path, after)
    else:
        story.start_again(after)


@pytest.mark.parametrize("partitions", [2, 20])
def test_a_transaction_ends_though_its_markers_could_not_be_written_for_a_reason_unknown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, partitions: int
) -> None:
    def fail(*whose: object) -> int:
        raise ZeroDivisionError

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a", partitions)
        others = broker.topics.named("a").partitions[1:]
        whose = await begin(broker, a, *others)
        with monkeypatch.context() as patched:
            patched.setattr(a, "append_marker", fail)
            assert await end(broker, whose, commit=True) is ErrorCode.NONE
        assert "ZeroDivisionError" in caplog.text
        assert a.open_transactions()
        assert all(map(is_committed, others))
        await ticked(broker, lambda: state(broker) is State.COMPLETE_COMMIT)
        assert is_committed(a)

    with_broker(None, work)


def test_what_is_nobodys_is_over_when_its_marker_is_durable_whatever_follows(
    tmp_path: Path,
) -> None:
    """Where others write all the time, something is always on its way to the disk."""

    leave_open_records_of_nobody(tmp_path)

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = broker.topics.named("a").partition(0)
        await broker.transactions.tick()
        await until(lambda: a.high_watermark == a.log.end_offset)
        files.held.add("/a-0/")
        writing = asyncio.ensure_future(write(a, STRANGER + 1, 0))
        await until(lambda: a.high_watermark < a.log.end_offset)
        await broker.transactions.tick()
        assert not broker.transactions._orphans
        files.release()
        await writing

    with_broker(tmp_path / "data", work)


def test_while_a_disk_hangs_one_waits_there_for_the_end_of_what_is_nobodys(tmp_path: Path) -> None:
    leave_open_records_of_nobody(tmp_path)

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = broker.topics.named("a").partition(0)
        for _ in range(5):
            await broker.transactions.tick()
        assert len(a._unflushed) == 1
        files.release()
        await until(lambda: a.high_watermark == a.log.end_offset)
        await broker.transactions.tick()
        assert not broker.transactions._orphans
        assert [aborted.producer_id for aborted in a.aborted(0, 1_000)] == [STRANGER]

    files = PathFiles()
    files.held.add("/a-0/")
    with_broker(tmp_path / "data", work, files=files)
