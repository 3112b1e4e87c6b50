"""Changes of topics, and what comes between one and its end: another, a stop, a failing disk."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.held_disk import settled
from tests.unit.broker.broker_rig import BrokerRig, run
from tests.unit.broker.brokers import until
from tests.unit.testing.surroundings import context

from kafkaesque.broker import state_log, storage, upkeep
from kafkaesque.broker.apis.create_partitions import create_partitions
from kafkaesque.broker.apis.create_topics import create_topics
from kafkaesque.broker.apis.delete_topics import delete_topics
from kafkaesque.broker.apis.metadata import metadata
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.topics import OFFSETS_TOPIC, NewTopic
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.log.files import SPARE_DESCRIPTORS
from kafkaesque.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkaesque.protocol.messages.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkaesque.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkaesque.types import TopicPartition

ORDERS = TopicPartition("orders", 0)
MANY = 40
Request: TypeAlias = Callable[[BrokerRig], Awaitable[Any]]


def _committed(rig: BrokerRig) -> CommittedOffset | None:
    return rig.broker.coordinator.table.offsets.fetch("group", ORDERS)


async def _commit(rig: BrokerRig) -> None:
    offset = CommittedOffset(5, -1, "", 0, None)
    await rig.broker.coordinator.commit("group", {ORDERS: offset})


def test_changes_on_their_way_survive_the_shortening_of_the_metadata_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_log, "_SMALL_BYTES", 0)

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 1, retention_ms="1000")
        doomed = await rig.topic("doomed")
        rig.disk.is_held = True
        topics = rig.broker.topics
        changes = [
            asyncio.ensure_future(topics.create(NewTopic("new", 2))),
            asyncio.ensure_future(topics.configure(topic, lambda: {"retention.ms": "2000"})),
            asyncio.ensure_future(topics.grow(topic, 3)),
            asyncio.ensure_future(topics.delete(doomed)),
        ]
        reserved = asyncio.ensure_future(rig.broker.metadata.new_producer_id())
        await settled()
        shortening = asyncio.ensure_future(rig.broker.metadata.compact())
        late = asyncio.ensure_future(topics.create(NewTopic("late", 1)))
        await rig.disk.let_all_go()
        await asyncio.gather(*changes, shortening, late)
        await rig.broker.storage.checkpoint_log_starts()
        broker = await rig.reopen()
        names = {topic.name: len(topic.partitions) for topic in broker.topics}
        names.pop(OFFSETS_TOPIC)
        assert names == {"orders": 3, "new": 2, "late": 1}
        assert broker.topics.named("orders").overrides == {"retention.ms": "2000"}
        assert await broker.metadata.new_producer_id() > await reserved

    run(tmp_path, work)


def test_a_setting_on_its_way_when_its_topic_is_deleted_does_not_reach_a_namesake(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders")
        rig.disk.is_held = True
        deleted = asyncio.ensure_future(rig.broker.delete_topic(topic))
        await settled()
        configured = asyncio.ensure_future(
            rig.broker.topics.configure(topic, lambda: {"retention.ms": "1"})
        )
        await rig.disk.let_all_go()
        await deleted
        with pytest.raises(KafkaError) as refused:
            await configured
        assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await rig.topic("orders")
        broker = await rig.reopen()
        assert broker.topics.named("orders").overrides == {}

    run(tmp_path, work)


def test_a_default_that_changes_while_a_topic_is_made_reaches_it(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        rig.disk.is_held = True
        creation = asyncio.ensure_future(rig.topic("orders"))
        await settled()
        change = rig.broker.metadata.configure_broker(lambda: {"log.retention.ms": "1234"})
        changing = asyncio.ensure_future(change)
        await rig.disk.let_all_go()
        await changing
        partition = (await creation).partition(0)
        assert partition.log.config.retention_ms == 1234

    run(tmp_path, work)


def test_defaults_that_clients_change_take_no_durability_from_the_brokers_own_topics(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        changes = {"write.caching.default": "true", "message.max.bytes": "10"}
        await rig.broker.metadata.configure_broker(lambda: changes)
        assert (await rig.topic("orders")).config.write_caching
        for _ in range(2):
            config = rig.broker.topics.named(OFFSETS_TOPIC).partition(0).config
            assert not config.write_caching
            assert config.max_message_bytes > 10
            await rig.reopen()
        topic = rig.broker.topics.named(OFFSETS_TOPIC)
        with pytest.raises(KafkaError) as refused:
            await rig.broker.topics.configure(topic, lambda: {"write.caching": "true"})
        assert refused.value.code is ErrorCode.INVALID_CONFIG

    run(tmp_path, work, write_caching_default="true")


def test_a_topic_takes_its_offsets_along_though_its_files_cannot_be_removed(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders")
        await _commit(rig)
        rig.files.broken["rename"] = "orders-0"
        with pytest.raises(KafkaError):
            await rig.broker.delete_topic(topic)
        assert _committed(rig) is None
        with pytest.raises(KafkaError) as refused:
            await rig.topic("orders")
        assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
        rig.files.broken.clear()
        await rig.broker.topics.finish_deletions()
        await rig.topic("orders")

    run(tmp_path, work)


def test_a_deleted_topic_whose_disk_hangs_keeps_no_other_from_being_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "PATIENCE_SECONDS", 0.0)

    async def work(rig: BrokerRig) -> None:
        names = ("hung", "other")
        rig.files.broken["rename"] = "-0"
        for name in names:
            with pytest.raises(KafkaError):
                await rig.broker.delete_topic(await rig.topic(name))
        rig.files.broken.clear()
        leaving = rig.broker.topics._leaving
        hung = leaving["hung"].partitions[0]
        async with hung._maintenance:
            await rig.broker.topics.finish_deletions()
            async with asyncio.timeout(60):
                await until(lambda: "other" not in leaving)
            await rig.topic("other")
            with pytest.raises(KafkaError):
                await rig.topic("hung")
        async with asyncio.timeout(60):
            await until(lambda: "hung" not in leaving)
        await rig.topic("hung")

    run(tmp_path, work)


def test_a_namesake_is_refused_until_the_offsets_of_a_deleted_topic_are_gone(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders")
        await _commit(rig)
        rig.files.broken["sync"] = OFFSETS_TOPIC
        with pytest.raises(KafkaError):
            await rig.broker.delete_topic(topic)
        assert "orders" not in rig.broker.topics
        with pytest.raises(KafkaError) as refused:
            await rig.topic("orders")
        assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
        rig.files.broken.clear()
        await rig.broker.storage.revive()
        await rig.broker.topics.finish_deletions()
        await rig.topic("orders")
        assert _committed(rig) is None
        await rig.reopen()
        assert _committed(rig) is None

    run(tmp_path, work)


def test_what_a_kill_has_left_of_a_deleted_topic_goes_at_the_next_start(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 20)
        other = await rig.topic("other")
        rig.files.broken["rename"] = "orders-7"
        with pytest.raises(KafkaError):
            await rig.broker.delete_topic(topic)
        assert len(list(rig.data_dir.glob("orders-*"))) > 0
        rig.files.broken.clear()
        broker = await rig.reopen()
        assert not list(rig.data_dir.glob("orders-?")) + list(rig.data_dir.glob("orders-??"))
        assert broker.storage.strays() == []
        assert broker.topics.named("other").id == other.id

    run(tmp_path, work)


def test_a_kill_after_the_metadata_log_was_shortened_leaves_nothing_of_a_deleted_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_log, "_SMALL_BYTES", 0)

    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 3)
        rig.files.broken["rename"] = "orders-1"
        with pytest.raises(KafkaError):
            await rig.broker.delete_topic(topic)
        await rig.broker.metadata.compact()
        await rig.broker.storage.checkpoint_log_starts()
        rig.files.broken.clear()
        broker = await rig.reopen()
        await broker.storage.remove_deleted()
        assert not list(rig.data_dir.glob("orders-*"))

    run(tmp_path, work)


def test_a_topic_is_changed_by_one_at_a_time(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders")
        topics = rig.broker.topics
        grown = await asyncio.gather(
            topics.grow(topic, 3), topics.grow(topic, 2), return_exceptions=True
        )
        assert grown[0] is None
        assert isinstance(grown[1], KafkaError)
        assert grown[1].code is ErrorCode.INVALID_PARTITIONS
        assert len(topic.partitions) == 3

    run(tmp_path, work)


def test_producer_ids_of_brokers_without_a_past_differ(tmp_path: Path) -> None:
    ids = []

    async def work(rig: BrokerRig) -> None:
        ids.append(await rig.broker.metadata.new_producer_id())

    run(tmp_path / "one", work)
    run(tmp_path / "two", work)
    assert ids[0] != ids[1]


def test_topics_and_partitions_are_bounded_by_settings(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        one = await rig.topic("one", 3)
        with pytest.raises(KafkaError) as refused:
            await rig.topic("two", 3)
        assert refused.value.code is ErrorCode.INVALID_PARTITIONS
        with pytest.raises(KafkaError):
            rig.broker.topics.check_partitions(6, have=3)
        rig.broker.topics.check_partitions(5, have=3)
        await rig.topic("two", 1)
        with pytest.raises(KafkaError) as refused:
            await rig.topic("three", 1)
        assert refused.value.code is ErrorCode.POLICY_VIOLATION
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name="three")])
        answer = await metadata(context(rig.broker, 3, 9), wanted)
        assert answer.topics[0].error_code == ErrorCode.POLICY_VIOLATION
        await rig.broker.delete_topic(one)
        await rig.topic("three", 4)

    run(tmp_path, work, max_topics="3", max_partitions="6")


def test_the_last_flush_of_a_deleted_topic_does_not_reach_its_namesake(tmp_path: Path) -> None:
    """It writes whose the partition is: the namesake would be taken for what was deleted."""

    async def work(rig: BrokerRig) -> None:
        old = await rig.topic("orders")
        rig.append(old.partition(0))
        late = rig.disk.hold_back()
        deleting = asyncio.ensure_future(rig.broker.delete_topic(old))
        await settled()
        assert not deleting.done()
        late()
        await deleting
        await rig.fill((await rig.topic("orders")).partition(0), batches=3)
        await rig.reopen()
        assert rig.broker.topics.named("orders").partition(0).log.end_offset == 3

    run(tmp_path, work)


def test_names_that_collide_are_refused_while_the_first_is_being_made(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        first = asyncio.ensure_future(rig.topic("a.b"))
        await asyncio.sleep(0)
        with pytest.raises(KafkaError) as refused:
            await rig.topic("a_b")
        assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
        await first

    run(tmp_path, work)


async def _create_many(rig: BrokerRig) -> CreateTopicsResponse:
    wanted = CreatableTopic(name="orders", num_partitions=MANY, replication_factor=1)
    return await create_topics(context(rig.broker, 19, 7), CreateTopicsRequest(topics=[wanted]))


async def _grow_to_many(rig: BrokerRig) -> None:
    await rig.topic("orders", 1)
    wanted = CreatePartitionsTopic(name="orders", count=MANY, assignments=None)
    request = CreatePartitionsRequest(topics=[wanted])
    await create_partitions(context(rig.broker, 37, 3), request)


async def _ask_for_many(rig: BrokerRig) -> None:
    """Its creation is automatic."""
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    await metadata(context(rig.broker, 3, 9), wanted)


class _Openings:
    """In which turn of the loop each partition is opened. With each of them a slice is over."""

    def __init__(self, rig: BrokerRig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.turns: list[int] = []
        self.in_slices: list[bool] = []
        self._turn = 0
        self._broker = rig.broker
        self._open = rig.broker.storage.open
        monkeypatch.setattr(rig.broker.storage, "open", self._noted)
        seconds = count()
        rig.broker.slices = Slices(lambda: float(next(seconds)))

    def _noted(self, *partition: Any) -> Any:
        self.turns.append(self._turn)
        self.in_slices.append(self._broker.slices.is_busy)
        return self._open(*partition)

    async def count_turns(self) -> None:
        while True:
            await asyncio.sleep(0)
            self._turn += 1

    async def until(self, partitions: int) -> None:
        async with asyncio.timeout(60):
            while len(self.turns) < partitions:
                await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("request_many", "in_slices"),
    [(_create_many, True), (_grow_to_many, True), (_ask_for_many, False)],
)
def test_others_are_heard_between_the_partitions_of_a_topic(
    request_many: Request, in_slices: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        openings = _Openings(rig, monkeypatch)
        counting = asyncio.ensure_future(openings.count_turns())
        await request_many(rig)
        counting.cancel()
        assert len(rig.broker.topics.named("orders").partitions) == MANY
        assert all(before < after for before, after in pairwise(openings.turns[1:]))
        assert set(openings.in_slices[1:]) == {in_slices}
        broker = await rig.reopen()
        assert len(broker.topics.named("orders").partitions) == MANY

    run(tmp_path, work, num_partitions=str(MANY))


def test_a_topic_half_of_whose_partitions_are_made_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        openings = _Openings(rig, monkeypatch)
        creation = asyncio.ensure_future(_create_many(rig))
        await openings.until(MANY // 2)
        assert "orders" not in rig.broker.topics
        second = await _create_many(rig)
        assert second.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")])
        deleted = await delete_topics(context(rig.broker, 20, 6), doomed)
        assert deleted.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert len(openings.turns) < MANY
        assert (await creation).topics[0].error_code == ErrorCode.NONE

    run(tmp_path, work)


def test_a_topic_that_is_deleted_while_it_grows_has_grown_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        openings = _Openings(rig, monkeypatch)
        growth = asyncio.ensure_future(_grow_to_many(rig))
        await openings.until(MANY // 2)
        topic = rig.broker.topics.named("orders")
        deletion = asyncio.ensure_future(rig.broker.delete_topic(topic))
        await asyncio.gather(growth, deletion)
        assert len(openings.turns) == MANY
        assert not list(rig.data_dir.glob("orders-*"))
        assert rig.broker.topics.partition_total == 1

    run(tmp_path, work)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_creation_that_ends_half_way_leaves_nothing(
    is_cancelled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        before = rig.broker.topics.partition_total
        openings = _Openings(rig, monkeypatch)
        creation = asyncio.ensure_future(_create_many(rig))
        await openings.until(MANY // 2)
        if is_cancelled:
            creation.cancel()
        else:
            rig.files.broken["open"] = f"orders-{MANY - 1}/"
            answer = await creation
            assert answer.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        await asyncio.wait([creation])
        assert not list(rig.data_dir.glob("orders-*"))
        assert rig.broker.topics.partition_total == before
        rig.files.broken.clear()
        assert (await _create_many(rig)).topics[0].error_code == ErrorCode.NONE

    run(tmp_path, work)


def test_a_broker_that_stops_gives_up_what_it_has_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        openings = _Openings(rig, monkeypatch)
        creation = asyncio.ensure_future(_create_many(rig))
        await openings.until(MANY // 2)
        broker = await rig.reopen()
        assert creation.done()
        assert len(openings.turns) < MANY
        assert "orders" not in broker.topics
        assert not list(rig.data_dir.glob("orders-*"))
        assert broker.storage.scanned_bytes == 0

    run(tmp_path, work)


async def _create_each(rig: BrokerRig) -> CreateTopicsResponse:
    wanted = [
        CreatableTopic(name=f"orders{number}", num_partitions=1, replication_factor=1)
        for number in range(MANY)
    ]
    return await create_topics(context(rig.broker, 19, 7), CreateTopicsRequest(topics=wanted))


def test_a_broker_that_stops_makes_no_more_of_many_topics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a creation of its own: the next one must not begin while the disk is being closed."""

    async def work(rig: BrokerRig) -> None:
        openings = _Openings(rig, monkeypatch)
        creations = [asyncio.ensure_future(_create_each(rig))]
        await openings.until(3)
        broker = await rig.reopen()
        answer = await creations[0]
        created = {topic.name for topic in answer.topics if not topic.error_code}
        assert 0 < len(created) < MANY
        refused = {topic.error_code for topic in answer.topics} - {0}
        assert refused == {ErrorCode.BROKER_NOT_AVAILABLE}
        assert {path.name for path in rig.data_dir.glob("orders*")} == {f"{n}-0" for n in created}
        assert all(name in broker.topics for name in created)

    run(tmp_path, work)


def test_a_broker_does_not_stop_in_the_midst_of_a_deletion(tmp_path: Path) -> None:
    async def work(rig: BrokerRig) -> None:
        topics = [await rig.topic(f"orders{number}") for number in range(3)]
        deletions = [asyncio.ensure_future(rig.broker.delete_topic(topic)) for topic in topics]
        await asyncio.sleep(0)
        broker = await rig.reopen()
        assert all(deletion.done() and not deletion.exception() for deletion in deletions)
        assert not list(rig.data_dir.glob("orders*"))
        assert broker.storage.scanned_bytes == 0

    run(tmp_path, work)


def test_no_more_partitions_than_may_be_are_made_by_those_that_wait_for_each_other(
    tmp_path: Path,
) -> None:
    async def work(rig: BrokerRig) -> None:
        topic = await rig.topic("orders", 1)
        topics = rig.broker.topics
        internal = topics.partition_total - 1
        growing = [asyncio.ensure_future(topics.grow(topic, count)) for count in (10, 30)]
        await asyncio.sleep(0)
        other = await rig.topic("other", 20)
        await growing[0]
        with pytest.raises(KafkaError, match="exceed max"):
            await growing[1]
        assert len(topic.partitions) + len(other.partitions) == 30
        assert topics.partition_total == internal + 30

    run(tmp_path, work, max_partitions="42")


def test_what_others_are_about_to_open_is_counted_before_a_creation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(rig: BrokerRig) -> None:
        # The first is half made when the second asks.
        monkeypatch.setattr(storage, "_FEW_PARTITIONS", 0)
        left = 30 + SPARE_DESCRIPTORS
        openings = _Openings(rig, monkeypatch)
        before = len(openings.turns)
        monkeypatch.setattr(
            storage, "descriptors_left", lambda: left - (len(openings.turns) - before)
        )
        creation = asyncio.ensure_future(rig.topic("orders", 20))
        await openings.until(before + 5)
        with pytest.raises(KafkaError) as refused:
            await rig.topic("other", 11)
        assert refused.value.code is ErrorCode.INVALID_PARTITIONS
        await rig.topic("small", 10)
        assert len((await creation).partitions) == 20
        assert rig.broker.topics._unopened == 0

    run(tmp_path, work)
