"""The wall's clock is set back or forward: deadlines stay where they are, stamps follow it."""

from pathlib import Path
from typing import cast

import pytest
from tests.unit.broker.brokers import PathFiles, new_topic, time_passes, until, with_broker, write
from tests.unit.broker.state_logs import Now
from tests.unit.groups.driver import SESSION_MS, Driver
from tests.unit.transactions.driver import NOW, P0, TIMEOUT_MS, at_epoch

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.partition import Partition
from kafkaesque.errors import KafkaError
from kafkaesque.groups.events import Join, JoinReply, State
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.records.control import Marker
from kafkaesque.transactions.events import State as TransactionState
from kafkaesque.types import Moment

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.mark.parametrize("shift_ms", [-HOUR_MS, HOUR_MS])
def test_a_session_expires_when_its_time_has_passed_whatever_the_wall_says(shift_ms: int) -> None:
    driver = Driver()
    (member,) = driver.stable("a")
    driver.wall_ms += shift_ms
    driver.wait(SESSION_MS - 1)
    assert driver.state() is State.STABLE
    driver.wait(1)
    assert driver.state() is State.EMPTY
    assert driver.stored[-1].state_since_ms == driver.wall_ms
    assert member not in driver.group.roster.members


@pytest.mark.parametrize("shift_ms", [-HOUR_MS, HOUR_MS])
def test_a_transaction_times_out_when_its_time_has_passed_whatever_the_wall_says(
    shift_ms: int,
) -> None:
    driver = at_epoch(5)
    driver.add(P0)
    driver.wall_ms += shift_ms
    assert driver.tick(TIMEOUT_MS - 1) == "-"
    assert driver.tick(1) == "PrepareAbort!+markers"
    assert driver.stored().updated_ms == driver.wall_ms
    assert driver.stored().started_ms == NOW


@pytest.mark.parametrize(
    ("passed_ms", "left_ms"),
    [(0, TIMEOUT_MS), (1_000, TIMEOUT_MS - 1_000), (HOUR_MS, 0), (-HOUR_MS, TIMEOUT_MS)],
)
def test_after_a_restart_a_transaction_has_what_is_left_of_its_time_and_never_more(
    passed_ms: int, left_ms: int
) -> None:
    driver = at_epoch(5)
    driver.add(P0)
    driver.wall_ms += passed_ms
    driver.now = 7  # Another process: its clock began anew.
    driver.restart()
    assert driver.transaction.is_due(Moment(7 + left_ms, 0))
    assert not driver.transaction.is_due(Moment(6 + left_ms, 2**62))


def test_an_idle_transactional_id_expires_by_the_wall() -> None:
    transaction = at_epoch(5).transaction
    expiration_ms = transaction.config.expiration_ms
    assert not transaction.is_due(Moment(2**62, NOW + expiration_ms - 1))
    assert transaction.is_due(Moment(0, NOW + expiration_ms))


def test_a_step_back_of_the_wall_does_not_hold_a_rebalance() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        coordinator = broker.coordinator
        tokens = [coordinator.future() for _ in range(2)]
        coordinator.ask("g", _join(tokens[0], "a"))
        first = cast(JoinReply, await tokens[0])
        coordinator.ask("g", _join(tokens[1], "b"))
        now.ms -= HOUR_MS
        time_passes(now, SESSION_MS)
        second = cast(JoinReply, await tokens[1])
        assert second.generation == first.generation + 1
        assert second.leader == second.member_id

    with_broker(None, work)


def _join(token: object, client_id: str) -> Join:
    timeouts = SESSION_MS, SESSION_MS
    return Join(token, "", None, client_id, "/h", "consumer", (("range", b""),), *timeouts)


def test_a_step_back_of_the_wall_does_not_hold_readers_of_committed_records() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        reply = await broker.transactions.init("t", TIMEOUT_MS, -1, -1)
        whose = reply.producer_id, reply.producer_epoch
        broker.transactions.admit("t", *whose, a.name, adds=True)
        await write(a, *whose)
        time_passes(now, TIMEOUT_MS)
        now.ms -= HOUR_MS
        await broker.transactions.tick()
        transaction = broker.transactions.table.transactions["t"]
        await until(lambda: transaction.state is TransactionState.COMPLETE_ABORT)
        assert a.last_stable_offset == a.high_watermark

    with_broker(None, work)


async def _append(partition: Partition) -> int:
    """The same batch each time; where the log ends then."""
    record = Record(0, 0, b"key", b"value")
    batch = new_batch([record], producer_id=7, producer_epoch=0, base_sequence=0)
    partition.append(memoryview(batch))
    if waiting := partition.flushed(partition.log.end_offset):
        await waiting
    return partition.log.end_offset


@pytest.mark.parametrize("shift_ms", [-2 * DAY_MS, 2 * DAY_MS])
def test_a_producer_is_forgotten_when_its_time_has_passed_whatever_the_wall_says(
    shift_ms: int,
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await _append(a)
        now.ms += shift_ms
        await broker._expire_producers()
        assert await _append(a) == 1
        time_passes(now, DAY_MS + 1)
        await broker._expire_producers()
        assert await _append(a) == 2

    now = Now()
    now.ms = 10 * DAY_MS
    with_broker(None, work, now=now)


def test_a_producer_is_remembered_while_its_transaction_is_open() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await write(a, 7, 0)
        for _ in range(3):
            time_passes(now, 2 * DAY_MS)
            await broker._expire_producers()
        assert a.producers.ids() == {7}
        a.append_marker(7, 0, Marker.COMMIT)
        for _ in range(2):
            time_passes(now, 2 * DAY_MS)
            await broker._expire_producers()
        assert not a.producers.ids()

    with_broker(None, work)


@pytest.mark.parametrize(
    ("passed_ms", "left_ms"), [(0, DAY_MS), (HOUR_MS, 23 * HOUR_MS), (-2 * DAY_MS, DAY_MS)]
)
def test_after_a_restart_a_producer_has_what_is_left_of_its_time_and_never_more(
    tmp_path: Path, passed_ms: int, left_ms: int
) -> None:
    async def before(broker: Broker, files: PathFiles, now: Now) -> None:
        await _append(await new_topic(broker, "a"))

    async def after(broker: Broker, files: PathFiles, now: Now) -> None:
        a = broker.topics.named("a").partition(0)
        # The loop's own time goes on: not so far.
        time_passes(now, left_ms - HOUR_MS // 2)
        await broker._expire_producers()
        assert a.producers.ids() == {7}
        time_passes(now, HOUR_MS)
        await broker._expire_producers()
        assert not a.producers.ids()

    now = Now()
    with_broker(tmp_path, before, now=now)
    now.ms += passed_ms
    with_broker(tmp_path, after, now=now)


def test_a_failed_flush_after_a_step_of_the_wall_makes_nobody_forgotten(tmp_path: Path) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        a = await new_topic(broker, "a")
        await _append(a)
        await broker.storage.checkpoint()
        now.ms += 2 * DAY_MS
        files.unsynced = {"/a-0/"}
        with pytest.raises(KafkaError):
            await write(a, 8, 0)
        files.mend()
        await broker.storage.revive()
        await broker._expire_producers()
        assert a.producers.ids() == {7}
        assert len(broker.producer_ids) == 1
        await broker.delete_topic(broker.topics.named("a"))
        assert len(broker.producer_ids) == 0

    with_broker(tmp_path, work)
