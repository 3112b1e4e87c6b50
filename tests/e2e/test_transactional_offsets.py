"""Offsets that are committed in transactions: over raw connections, and by confluent-kafka.

A group's position moves when the transaction is committed, and not before; whoever asks for stable
offsets is told to wait (KIP-447); a former member of the group is refused; all of it over restarts.
"""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests import group_state
from tests.broker_process import BrokerProcess
from tests.wire.client import RawClient
from tests.wire.transactional import NEW, OLD, RawProducer, Versions, patiently

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

pytestmark = pytest.mark.slow

ORDERS = "orders"
NOTHING = -1
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for done in admin.create_topics([NewTopic(ORDERS, 2)]).values():
        done.result()
    return admin


@pytest.fixture
def client(broker: BrokerProcess, admin: AdminClient) -> Iterator[RawClient]:
    with RawClient(broker.bootstrap) as client:
        yield client


def producer_of(client: RawClient, versions: Versions = NEW, name: str = "t") -> RawProducer:
    producer = RawProducer(client, name, versions)
    assert patiently(producer.init) is ErrorCode.NONE
    return producer


def commit_offset(producer: RawProducer, offset: int, group: str = "g") -> None:
    if producer.versions is OLD:
        assert producer.add_offsets(group) is ErrorCode.NONE
    assert producer.commit_offset(group, ORDERS, offset) is ErrorCode.NONE


def fetched(client: RawClient, *, stable: bool = True, partition: int = 0) -> int | ErrorCode:
    """What group g has committed, or why that is not told."""
    topic = OffsetFetchRequestTopics(name=ORDERS, partition_indexes=[partition])
    wanted = OffsetFetchRequestGroup(group_id="g", topics=[topic])
    request = OffsetFetchRequest(groups=[wanted], require_stable=stable)
    answer = client.call(request, OffsetFetchResponse, 8)
    (found,) = answer.groups[0].topics[0].partitions
    return ErrorCode(found.error_code) if found.error_code else found.committed_offset


@pytest.mark.parametrize("versions", [OLD, NEW], ids=["old", "new"])
def test_an_offset_is_seen_when_its_transaction_is_committed(
    client: RawClient, versions: Versions
) -> None:
    producer = producer_of(client, versions)
    commit_offset(producer, 5)
    assert fetched(client, stable=False) == NOTHING
    assert fetched(client) is UNSTABLE
    assert fetched(client, partition=1) == NOTHING
    assert producer.end(commit=True) is ErrorCode.NONE
    assert fetched(client) == 5


@pytest.mark.parametrize("versions", [OLD, NEW], ids=["old", "new"])
def test_an_offset_is_never_seen_when_its_transaction_is_aborted(
    client: RawClient, versions: Versions
) -> None:
    producer = producer_of(client, versions)
    for offset, commit in ((1, True), (5, False)):
        commit_offset(producer, offset)
        assert producer.end(commit=commit) is ErrorCode.NONE
    assert fetched(client) == 1


def test_version_7_tells_of_unstable_offsets_too(client: RawClient) -> None:
    commit_offset(producer_of(client), 5)
    topic = OffsetFetchRequestTopic(name=ORDERS, partition_indexes=[0, 1])
    request = OffsetFetchRequest(group_id="g", topics=[topic], require_stable=True)
    answer = client.call(request, OffsetFetchResponse, 7)
    errors = [found.error_code for found in answer.topics[0].partitions]
    assert errors == [UNSTABLE, ErrorCode.NONE]


def test_whoever_asks_for_all_stable_offsets_is_told_which_are_not(client: RawClient) -> None:
    producer = producer_of(client)
    commit_offset(producer, 1)
    producer.end(commit=True)
    commit_offset(producer, 2)
    wanted = OffsetFetchRequestGroup(group_id="g", topics=None)
    for stable, expected in ((True, (-1, UNSTABLE)), (False, (1, ErrorCode.NONE))):
        request = OffsetFetchRequest(groups=[wanted], require_stable=stable)
        answer = client.call(request, OffsetFetchResponse, 8)
        (found,) = answer.groups[0].topics[0].partitions
        assert (found.committed_offset, found.error_code) == expected


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_pending_offsets_outlive_the_broker(
    broker: BrokerProcess, client: RawClient, end: str, commit: bool
) -> None:
    producer = producer_of(client)
    commit_offset(producer, 1)
    producer.end(commit=True)
    producer.send(ORDERS, 0, [b"with it"])
    commit_offset(producer, 5)
    getattr(broker, end)()
    broker.start()
    with RawClient(broker.bootstrap) as again:
        assert fetched(again) is UNSTABLE
        assert patiently(lambda: producer.over(again).end(commit=commit)) is ErrorCode.NONE
        assert fetched(again) == (5 if commit else 1)
    getattr(broker, end)()
    broker.start()
    with RawClient(broker.bootstrap) as again:
        assert fetched(again) == (5 if commit else 1)


def test_a_producer_that_takes_over_ends_what_was_pending(client: RawClient) -> None:
    first = producer_of(client)
    commit_offset(first, 5)
    second = producer_of(client)
    assert fetched(client) == NOTHING
    assert first.commit_offset("g", ORDERS, 5) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert first.end(commit=True) is ErrorCode.PRODUCER_FENCED
    commit_offset(second, 6)
    assert second.end(commit=True) is ErrorCode.NONE
    assert fetched(client) == 6


def test_offsets_that_were_not_added_to_the_transaction_are_refused(client: RawClient) -> None:
    producer = producer_of(client, OLD)
    producer.add(ORDERS, 0)
    assert producer.commit_offset("g", ORDERS, 5) is ErrorCode.INVALID_TXN_STATE
    producer.versions = OLD._replace(offset_commit=4)
    assert producer.commit_offset("g", ORDERS, 5) is ErrorCode.TRANSACTION_ABORTABLE
    assert fetched(client) == NOTHING


def test_what_cannot_be_committed_is_refused_by_itself(client: RawClient) -> None:
    producer = producer_of(client)
    assert producer.commit_offset("g", "unknown", 5) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.commit_offset("", ORDERS, 5) is ErrorCode.INVALID_GROUP_ID
    error = producer.commit_offset("g", ORDERS, 5, generation=3, member_id="stranger")
    assert error is ErrorCode.ILLEGAL_GENERATION
    commit_offset(producer, 5)
    error = producer.commit_offset("g", ORDERS, 5, generation=3, member_id="stranger")
    assert error is ErrorCode.UNKNOWN_MEMBER_ID
    assert producer.end(commit=True) is ErrorCode.NONE
    assert fetched(client) == 5


def test_deleting_a_group_takes_pending_offsets_with_it(
    broker: BrokerProcess, admin: AdminClient, client: RawClient
) -> None:
    producer = producer_of(client)
    commit_offset(producer, 5)
    group_state.delete(broker.bootstrap, "g")
    assert producer.end(commit=True) is ErrorCode.NONE
    assert fetched(client) == NOTHING
    broker.kill()
    broker.start()
    with RawClient(broker.bootstrap) as again:
        assert fetched(again) == NOTHING


def test_deleting_a_topic_takes_pending_offsets_with_it(
    broker: BrokerProcess, admin: AdminClient, client: RawClient
) -> None:
    producer = producer_of(client)
    commit_offset(producer, 5)
    for _ in range(2):
        admin.delete_topics([ORDERS])[ORDERS].result()
        admin.create_topics([NewTopic(ORDERS, 2)])[ORDERS].result()
        assert fetched(client) == NOTHING
        assert producer.end(commit=True) is ErrorCode.NONE
        assert fetched(client) == NOTHING
        commit_offset(producer, 6)


def consumer_of(broker: BrokerProcess) -> Consumer:
    return Consumer({"bootstrap.servers": broker.bootstrap, "log_level": 0, "group.id": "g"})


def transactional(broker: BrokerProcess) -> Producer:
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "log_level": 0, "transactional.id": "t"}
    )
    producer.init_transactions(20)
    return producer


def test_confluents_producer_commits_offsets_of_its_consumer(
    broker: BrokerProcess, client: RawClient
) -> None:
    consumer, producer = consumer_of(broker), transactional(broker)
    for offset, end in (
        (5, producer.commit_transaction),
        (6, producer.abort_transaction),
        (7, producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(ORDERS, b"a result")
        moved = [TopicPartition(ORDERS, 0, offset)]
        producer.send_offsets_to_transaction(moved, consumer.consumer_group_metadata(), 20)
        assert fetched(client) is UNSTABLE
        end(20)
        assert fetched(client) == (5 if offset == 6 else offset)
    consumer.close()


def test_a_consumer_waits_for_the_end_of_a_transaction(
    broker: BrokerProcess, client: RawClient
) -> None:
    """librdkafka asks for stable offsets, again and again."""
    producer, consumer = producer_of(client), consumer_of(broker)
    commit_offset(producer, 5)
    wanted = [TopicPartition(ORDERS, 0)]
    with pytest.raises(KafkaException):
        consumer.committed(wanted, 0.5)
    assert producer.end(commit=True) is ErrorCode.NONE
    assert consumer.committed(wanted, 20)[0].offset == 5
    consumer.close()


def test_a_member_of_a_former_generation_is_refused(
    broker: BrokerProcess, client: RawClient
) -> None:
    """The zombie of KIP-447: it was given its partitions, and others have them now."""
    zombie = consumer_of(broker)
    assigned: list[TopicPartition] = []
    zombie.subscribe([ORDERS], on_assign=lambda _, partitions: assigned.extend(partitions))
    while not assigned:
        zombie.poll(0.1)
    metadata = zombie.consumer_group_metadata()
    zombie.close()
    producer = transactional(broker)
    producer.begin_transaction()
    with pytest.raises(KafkaException) as refused:
        producer.send_offsets_to_transaction([TopicPartition(ORDERS, 0, 5)], metadata, 20)
    assert refused.value.args[0].txn_requires_abort()
    producer.abort_transaction(20)
    assert fetched(client) == NOTHING
