"""Which requests a fault strikes, and what becomes of several at once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.unit.testing.surroundings import broker_with, context
from tests.wire.requests import batch, create_topic, fetch, produce

from kafkaesque.broker.broker import Broker
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkaesque.protocol.messages.fetch import FetchRequest, FetchTopic
from kafkaesque.protocol.messages.heartbeat import HeartbeatRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest
from kafkaesque.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
)
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkaesque.protocol.messages.produce import ProduceRequest
from kafkaesque.testing import Fault, Faults
from kafkaesque.testing.fault import Drop, Strike

HEARTBEAT = HeartbeatRequest(group_id="g")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with broker_with("orders", "payments") as found:
        yield found


@pytest.fixture
def faults() -> Faults:
    return Faults()


def heartbeat(faults: Faults, broker: Broker, client_id: str = "c") -> Strike:
    return faults.strike(context(broker, 12, 4, client_id), HEARTBEAT)


def test_without_faults_nothing_befalls_a_request(faults: Faults, broker: Broker) -> None:
    assert heartbeat(faults, broker) == Strike()
    faults.drop("Produce")
    assert heartbeat(faults, broker) == Strike()


def test_an_api_goes_by_name_or_by_key(faults: Faults, broker: Broker) -> None:
    by_key, by_name = faults.delay(12, seconds=0), faults.delay("Heartbeat", seconds=0)
    heartbeat(faults, broker)
    assert (by_key.count, by_name.count) == (1, 1)


def test_an_unknown_api_is_refused_with_a_list_of_them(faults: Faults) -> None:
    with pytest.raises(ValueError, match=r"no API 'Prodcue'; there are Produce \(0\), Fetch \(1\)"):
        faults.drop("Prodcue")


def test_an_unknown_error_is_refused_with_a_list_of_them(faults: Faults) -> None:
    with pytest.raises(ValueError, match=r"no error 'NOPE'; there are .*OFFSET_OUT_OF_RANGE"):
        faults.error("Fetch", "NOPE")


def test_no_error_is_no_fault(faults: Faults) -> None:
    with pytest.raises(ValueError, match="NONE"):
        faults.error("Fetch", ErrorCode.NONE)


def test_a_topic_makes_no_sense_where_requests_have_none(faults: Faults) -> None:
    with pytest.raises(ValueError, match="Heartbeat requests are not about topics"):
        faults.drop("Heartbeat", topic="orders")


@pytest.mark.parametrize("probability", [-0.1, 1.1])
def test_a_probability_is_between_0_and_1(faults: Faults, probability: float) -> None:
    with pytest.raises(ValueError, match="probability"):
        faults.drop("Fetch", probability=probability)


def test_time_cannot_be_delayed_backwards(faults: Faults) -> None:
    with pytest.raises(ValueError, match="delay"):
        faults.delay("Fetch", seconds=-1)


def test_a_fault_strikes_as_often_as_it_is_told(faults: Faults, broker: Broker) -> None:
    fault = faults.drop("Heartbeat", times=2)
    struck = [s.drop is not None for s in (heartbeat(faults, broker) for _ in range(4))]
    assert (struck, fault.count) == ([True, True, False, False], 2)


def test_the_first_that_was_added_strikes_and_the_next_when_that_is_spent(
    faults: Faults, broker: Broker
) -> None:
    faults.error("Heartbeat", "REBALANCE_IN_PROGRESS", times=1)
    faults.drop("Heartbeat", times=1)
    faults.error("Heartbeat", "UNKNOWN_MEMBER_ID", times=1)
    first, second, third, last = (heartbeat(faults, broker) for _ in range(4))
    assert first.refused.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert first.drop is None
    assert second.drop == Drop(after=False)
    assert third.refused.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert last == Strike()


def test_delays_add_up_and_come_on_top_of_an_error(faults: Faults, broker: Broker) -> None:
    slow = faults.delay("Heartbeat", seconds=1)
    faults.error("Heartbeat", ErrorCode.UNKNOWN_MEMBER_ID)
    slower = faults.delay("Heartbeat", seconds=2)
    strike = heartbeat(faults, broker)
    assert strike.delays == [slow, slower]
    assert strike.refused.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_removed_fault_strikes_no_more(faults: Faults, broker: Broker) -> None:
    with faults.drop("Heartbeat") as fault:
        heartbeat(faults, broker)
    assert heartbeat(faults, broker) == Strike()
    assert fault.count == 1


def test_clear_removes_all_of_them(faults: Faults, broker: Broker) -> None:
    faults.drop("Heartbeat")
    faults.delay("Heartbeat", seconds=1)
    faults.clear()
    assert heartbeat(faults, broker) == Strike()


def test_a_fault_may_be_about_one_client(faults: Faults, broker: Broker) -> None:
    fault = faults.drop("Heartbeat", client_id="a")
    heartbeat(faults, broker, "b")
    assert fault.count == 0
    heartbeat(faults, broker, "a")
    assert fault.count == 1


def test_a_seed_makes_chance_the_same_every_time(broker: Broker) -> None:
    def draw(seed: int) -> list[bool]:
        faults = Faults()
        faults.drop("Heartbeat", probability=0.5, seed=seed)
        return [s.drop is not None for s in (heartbeat(faults, broker) for _ in range(64))]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert 16 < sum(draw(1)) < 48


def test_of_several_topics_only_the_one_is_refused_and_the_rest_carried_out(
    faults: Faults, broker: Broker
) -> None:
    faults.error("Produce", "NOT_ENOUGH_REPLICAS", topic="orders")
    parts = [produce(topic, 0, batch([b"v"])).topic_data[0] for topic in ("payments", "orders")]
    strike = faults.strike(context(broker, 0, 9), ProduceRequest(acks=-1, topic_data=parts))
    assert [topic.name for topic in strike.refused.responses] == ["orders"]
    assert [topic.name for topic in strike.rest.topic_data] == ["payments"]


def test_a_topic_is_known_by_its_id_too(faults: Faults, broker: Broker) -> None:
    fault = faults.drop("Fetch", topic="orders")
    orders, payments = (broker.topics.named(name).id for name in ("orders", "payments"))
    for topic_id in (payments, orders):
        faults.strike(context(broker, 1, 13), FetchRequest(topics=[FetchTopic(topic_id=topic_id)]))
    assert fault.count == 1


def test_a_request_about_another_topic_is_let_through(faults: Faults, broker: Broker) -> None:
    fault = faults.drop("CreateTopics", topic="a")
    faults.strike(context(broker, 19, 5), create_topic("b", 1))
    assert fault.count == 0
    faults.strike(context(broker, 19, 5), create_topic("a", 1))
    assert fault.count == 1


def test_the_topic_of_a_setting_is_its_resource(faults: Faults, broker: Broker) -> None:
    fault = faults.error("DescribeConfigs", "INVALID_REQUEST", topic="orders")
    broker_resource = DescribeConfigsResource(resource_type=4, resource_name="orders")
    topic_resource = DescribeConfigsResource(resource_type=2, resource_name="orders")
    request = DescribeConfigsRequest(resources=[broker_resource])
    faults.strike(context(broker, 32, 4), request)
    assert fault.count == 0
    request = DescribeConfigsRequest(resources=[broker_resource, topic_resource])
    strike = faults.strike(context(broker, 32, 4), request)
    assert strike.rest.resources == [broker_resource]
    assert [result.resource_type for result in strike.refused.results] == [2]


def test_an_error_of_the_whole_refuses_the_whole(faults: Faults, broker: Broker) -> None:
    faults.error("OffsetDelete", "GROUP_ID_NOT_FOUND", topic="orders")
    topics = [OffsetDeleteRequestTopic(name=name) for name in ("orders", "payments")]
    request = OffsetDeleteRequest(group_id="g", topics=topics)
    strike = faults.strike(context(broker, 47, 0), request)
    assert strike.refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert strike.rest is None


def test_offsets_of_a_group_are_refused_together(faults: Faults, broker: Broker) -> None:
    faults.error("OffsetFetch", "GROUP_AUTHORIZATION_FAILED", topic="orders")
    topics = [OffsetFetchRequestTopics(name=n, partition_indexes=[0]) for n in ("orders", "x")]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])
    strike = faults.strike(context(broker, 9, 8), request)
    assert strike.rest is None
    assert strike.refused.groups[0].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_an_error_waits_for_a_request_that_has_a_place_for_it(
    faults: Faults, broker: Broker
) -> None:
    fault = faults.error("Metadata", "LEADER_NOT_AVAILABLE", times=1)
    faults.strike(context(broker, 3, 9), MetadataRequest(topics=[]))
    assert fault.count == 0
    faults.strike(context(broker, 3, 9), MetadataRequest(topics=None))
    assert fault.count == 1


def test_a_fetch_session_is_forgotten_when_a_fault_has_to_know_its_topics(
    faults: Faults, broker: Broker
) -> None:
    fault = faults.error("Fetch", "OFFSET_OUT_OF_RANGE", times=1)
    in_session = FetchRequest(session_id=1, session_epoch=5)
    strike = faults.strike(context(broker, 1, 11), in_session)
    assert strike.refused.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fault.count == 0
    strike = faults.strike(context(broker, 1, 11), fetch("orders", 0, 0))
    assert strike.refused.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_delay_of_any_topic_leaves_a_session_alone(faults: Faults, broker: Broker) -> None:
    slow = faults.delay("Fetch", seconds=1)
    strike = faults.strike(context(broker, 1, 11), FetchRequest(session_id=1, session_epoch=5))
    assert strike == Strike(delays=[slow])


def test_a_fault_tells_what_it_is(faults: Faults) -> None:
    assert repr(faults.error("Produce", 19)) == (  # type: ignore[arg-type]
        "<Fault: Produce is refused with NOT_ENOUGH_REPLICAS; struck 0 times>"
    )
    assert "0.2 s late" in repr(faults.delay("Fetch", seconds=0.2))
    assert "carried out and not answered" in repr(faults.drop("Produce", after=True))


def test_faults_come_and_go_from_many_threads_while_they_strike(
    faults: Faults, broker: Broker
) -> None:
    def add_and_remove() -> list[Fault]:
        added = []
        for _ in range(100):
            with faults.delay("Heartbeat", seconds=0):
                added.append(faults.drop("Heartbeat", times=1))
        return added

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(add_and_remove) for _ in range(4)]
        struck = sum(heartbeat(faults, broker).drop is not None for _ in range(500))
        added = [fault for future in futures for fault in future.result()]
    struck += sum(heartbeat(faults, broker).drop is not None for _ in range(500))
    assert struck == len(added) == 400
    assert [fault.count for fault in added] == [1] * 400
