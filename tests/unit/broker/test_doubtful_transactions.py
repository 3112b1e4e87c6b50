"""A transaction whose record could not be written is what the log says: nobody else waits for that,
and only what is on disk is believed.
"""

import asyncio
from pathlib import Path

import pytest
from tests.unit.broker.brokers import (
    HeldSlices,
    PathFiles,
    new_topic,
    time_passes,
    until,
    with_broker,
)
from tests.unit.broker.ending_transactions import TIMEOUT_MS, begin, end, is_committed, state
from tests.unit.broker.state_logs import Now

from kafkaesque.broker import transactions
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.topics import TRANSACTIONS_TOPIC
from kafkaesque.errors import ErrorCode
from kafkaesque.transactions.events import State
from kafkaesque.transactions.records import TransactionRecord, decode
from kafkaesque.types import Buffer

UNREADABLE = "how doubtful transactions stand cannot be read yet"


async def doubt(broker: Broker, files: PathFiles, transactional_id: str) -> None:
    """Its epoch cannot be stored, and then the log cannot be read."""
    await broker.transactions.init(transactional_id, TIMEOUT_MS, -1, -1)
    files.full.add(TRANSACTIONS_TOPIC)
    reply = await broker.transactions.init(transactional_id, TIMEOUT_MS, -1, -1)
    assert reply.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    files.full.discard(TRANSACTIONS_TOPIC)
    files.unreadable.add(TRANSACTIONS_TOPIC)


def test_a_transaction_times_out_though_another_is_doubtful_and_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await begin(broker, a)
        await doubt(broker, files, "doubtful")
        time_passes(now, TIMEOUT_MS)
        for _ in range(3):
            await broker.transactions.tick()
        await until(lambda: state(broker) is State.COMPLETE_ABORT)
        assert a.aborted(0, 1_000)
        assert caplog.text.count(UNREADABLE) == 1
        files.mend()
        await broker.transactions.tick()
        reply = await broker.transactions.init("doubtful", TIMEOUT_MS, -1, -1)
        assert (reply.error, reply.producer_epoch) == (ErrorCode.NONE, 1)

    with_broker(tmp_path / "data", work)


def test_a_transaction_times_out_whatever_another_meets_when_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def damaged(key: Buffer, value: Buffer | None) -> TransactionRecord | None:
        raise ArithmeticError("nobody thought of this")

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await begin(broker, a)
        await doubt(broker, files, "doubtful")
        files.mend()
        monkeypatch.setattr(transactions, "decode", damaged)
        time_passes(now, TIMEOUT_MS)
        for _ in range(3):
            await broker.transactions.tick()
        await until(lambda: state(broker) is State.COMPLETE_ABORT)
        assert caplog.text.count(f"{UNREADABLE}: nobody thought of this") == 1

    with_broker(tmp_path / "data", work)


def test_a_missing_marker_is_written_though_another_transaction_cannot_be_read(
    tmp_path: Path,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        whose = await begin(broker, a)
        files.full.add("/a-0/")
        assert await end(broker, whose, commit=True) is ErrorCode.NONE
        files.mend()
        await doubt(broker, files, "doubtful")
        await broker.transactions.tick()
        await until(lambda: state(broker) is State.COMPLETE_COMMIT)
        assert is_committed(a)

    with_broker(tmp_path / "data", work)


def test_only_the_last_records_of_doubtful_transactions_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []

    def counted(key: Buffer, value: Buffer | None) -> TransactionRecord | None:
        record = decode(key, value)
        assert record is not None
        decoded.append(record.transactional_id)
        return record

    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        for _ in range(5):
            await broker.transactions.init("known", TIMEOUT_MS, -1, -1)
            await broker.transactions.init("doubtful", TIMEOUT_MS, -1, -1)
        await doubt(broker, files, "doubtful")
        files.mend()
        monkeypatch.setattr("kafkaesque.broker.transactions.decode", counted)
        await broker.transactions.tick()
        assert decoded == ["doubtful"]
        assert not broker.transactions._desks

    with_broker(tmp_path / "data", work)


def test_what_the_log_loses_while_it_is_read_is_not_believed(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a, b = await new_topic(broker, "a"), await new_topic(broker, "b")
        for number in range(20):  # As many as are not read at once.
            await broker.transactions.init(f"other-{number}", TIMEOUT_MS, -1, -1)
        whose = await begin(broker)
        files.held.add(TRANSACTIONS_TOPIC)
        assert await broker.transactions.add("t", *whose, [a.name], 0) is ErrorCode.NONE
        files.full.add(TRANSACTIONS_TOPIC)
        refused = await broker.transactions.add("t", *whose, [b.name], 0)
        assert refused is ErrorCode.COORDINATOR_NOT_AVAILABLE
        files.full.clear()
        held = HeldSlices(broker)
        ticking = asyncio.ensure_future(broker.transactions.tick())
        await until(lambda: held.waits)
        files.unsynced.add(TRANSACTIONS_TOPIC)
        files.release()
        await until(broker.storage.offline)
        files.mend()
        await broker.storage.revive()
        held.let_go()
        await ticking
        await broker.transactions.tick()
        assert state(broker) is State.EMPTY

    with_broker(tmp_path / "data", work)
