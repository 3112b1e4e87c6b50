"""Faults on the wire: what a client that speaks the protocol byte by byte gets to see."""

import time
from collections.abc import Iterator

import pytest
from tests.foreign import until
from tests.wire.client import RawClient
from tests.wire.requests import batch, create_topic, fetch, produce, produce_answer

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkaesque.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkaesque.testing import Kafka

FOREVER_S = 3600


@pytest.fixture
def client(kafka: Kafka) -> Iterator[RawClient]:
    kafka.create("t")
    kafka.create("other")
    with RawClient(kafka.bootstrap_servers) as raw:
        yield raw


@pytest.mark.slow
def test_answers_come_in_the_order_of_the_requests_though_one_is_held_back(
    kafka: Kafka, client: RawClient
) -> None:
    slow = kafka.faults.delay("Produce", seconds=FOREVER_S, times=1)
    client.send(produce("t", 0, batch([b"first"])), 9)
    client.send(ApiVersionsRequest(), 2)
    client.send(produce("t", 0, batch([b"second"])), 9)
    until(lambda: slow.count)
    with RawClient(kafka.bootstrap_servers) as another:
        another.call(ApiVersionsRequest(), ApiVersionsResponse, 2)
    slow.remove()
    assert produce_answer(client.receive()).base_offset == 0
    assert isinstance(client.receive(), ApiVersionsResponse)
    assert produce_answer(client.receive()).base_offset == 1
    assert [kafka.get("t", n) for n in (0, 1)] == ["first", "second"]


def test_delays_take_their_time_together(kafka: Kafka, client: RawClient) -> None:
    kafka.faults.delay("Metadata", seconds=0.1)
    kafka.faults.delay("Metadata", seconds=0.05)
    begin = time.monotonic()
    client.call(MetadataRequest(topics=[]), MetadataResponse, 9)
    assert time.monotonic() - begin > 0.14


def test_a_request_is_carried_out_while_its_answer_is_held_back(
    kafka: Kafka, client: RawClient
) -> None:
    with kafka.faults.delay("Produce", seconds=FOREVER_S) as slow:
        client.send(produce("t", 0, batch([b"v"])), 9)
        until(lambda: slow.count)
        assert kafka.get("t", 0) == "v"
    assert produce_answer(client.receive()).error_code == ErrorCode.NONE


@pytest.mark.slow
def test_closing_the_broker_ends_delays(client: RawClient, kafka: Kafka) -> None:
    slow = kafka.faults.delay("Produce", seconds=FOREVER_S)
    client.send(produce("t", 0, batch([b"v"])), 9)
    until(lambda: slow.count)
    kafka.close()
    # Had it not ended, closing would have given up waiting, and the answer.
    assert produce_answer(client.receive()).error_code == ErrorCode.NONE


def test_a_drop_closes_the_connection_and_nothing_is_carried_out(
    kafka: Kafka, client: RawClient
) -> None:
    drop = kafka.faults.drop("Produce", times=1)
    client.send(produce("t", 0, batch([b"lost"])), 9)
    client.send(produce("t", 0, batch([b"lost with it"])), 9)
    assert client.is_closed_by_broker()
    with RawClient(kafka.bootstrap_servers) as again:
        answer = again.call(produce("t", 0, batch([b"v"])), ProduceResponse, 9)
    assert produce_answer(answer).base_offset == 0
    assert drop.count == 1


def test_a_drop_after_the_request_leaves_what_it_did(kafka: Kafka, client: RawClient) -> None:
    kafka.faults.drop("Produce", after=True, times=1)
    client.send(produce("t", 0, batch([b"v"])), 9)
    assert client.is_closed_by_broker()
    assert kafka.get("t", 0) == "v"


@pytest.mark.kafka(directory=True)
def test_a_drop_after_the_request_waits_until_it_is_durable(
    kafka: Kafka, client: RawClient
) -> None:
    kafka.faults.drop("CreateTopics", after=True, times=1)
    client.send(create_topic("new", 1), 5)
    assert client.is_closed_by_broker()
    assert "new" in kafka.topics


def test_a_drop_may_be_held_back_too(kafka: Kafka, client: RawClient) -> None:
    slow = kafka.faults.delay("Produce", seconds=FOREVER_S)
    kafka.faults.drop("Produce", after=True)
    client.send(produce("t", 0, batch([b"v"])), 9)
    until(lambda: slow.count)
    slow.remove()
    assert client.is_closed_by_broker()


def test_a_produce_without_acks_is_refused_in_silence(kafka: Kafka, client: RawClient) -> None:
    refused = kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", times=1)
    client.send(produce("t", 0, batch([b"refused"]), acks=0), 9)
    client.send(produce("t", 0, batch([b"taken"]), acks=0), 9)
    answer = client.call(ApiVersionsRequest(), ApiVersionsResponse, 2)
    assert answer.error_code == ErrorCode.NONE
    assert (refused.count, kafka.latest("t")) == (1, (0, "taken"))


def test_only_the_topic_that_is_meant_is_refused(kafka: Kafka, client: RawClient) -> None:
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", topic="t")
    parts = [produce(topic, 0, batch([b"v"])).topic_data[0] for topic in ("t", "other")]
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=parts)
    answer = client.call(request, ProduceResponse, 9)
    said = {topic.name: topic.partition_responses[0].error_code for topic in answer.responses}
    assert said == {"t": ErrorCode.NOT_ENOUGH_REPLICAS, "other": ErrorCode.NONE}
    assert (list(kafka.topic("t")), list(kafka.topic("other"))) == ([], ["v"])


def test_one_topic_is_read_while_the_other_is_refused(kafka: Kafka, client: RawClient) -> None:
    kafka.put("other", "v")
    kafka.faults.error("Fetch", "TOPIC_AUTHORIZATION_FAILED", topic="t")
    topics = [fetch(topic, 0, 0).topics[0] for topic in ("t", "other")]
    request = FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, topics=topics)
    answer = client.call(request, FetchResponse, 11)
    found = {topic.topic: topic.partitions[0] for topic in answer.responses}
    assert found["t"].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert not found["t"].records
    assert b"v" in bytes(found["other"].records or b"")


def test_what_is_refused_of_a_fetch_is_not_waited_for(kafka: Kafka, client: RawClient) -> None:
    kafka.faults.error("Fetch", "TOPIC_AUTHORIZATION_FAILED", topic="t")
    topics = [fetch(topic, 0, 0).topics[0] for topic in ("t", "other")]
    wait_ms = FOREVER_S * 1000
    request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, session_epoch=0, topics=topics)
    answer = client.call(request, FetchResponse, 11)
    assert {topic.topic for topic in answer.responses} == {"t", "other"}
    assert answer.session_id == 0


def test_a_fetch_session_begins_anew_and_meets_its_fault(kafka: Kafka, client: RawClient) -> None:
    begun = fetch("t", 0, 0)
    begun.session_epoch = 0
    session_id = client.call(begun, FetchResponse, 11).session_id
    kafka.faults.error("Fetch", "OFFSET_OUT_OF_RANGE", times=1)
    going_on = FetchRequest(session_id=session_id, session_epoch=1)
    answer = client.call(going_on, FetchResponse, 11)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    refused = client.call(begun, FetchResponse, 11).responses[0].partitions[0]
    assert refused.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert client.call(begun, FetchResponse, 11).responses[0].partitions[0].error_code == 0


def test_api_versions_can_be_refused_and_still_tells_the_versions(
    kafka: Kafka, client: RawClient
) -> None:
    kafka.faults.error("ApiVersions", "UNKNOWN_SERVER_ERROR", times=1)
    answer = client.call(ApiVersionsRequest(), ApiVersionsResponse, 3)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert answer.api_keys


def test_a_refused_topic_is_not_created(kafka: Kafka, client: RawClient) -> None:
    kafka.faults.error("CreateTopics", "POLICY_VIOLATION")
    answer = client.call(create_topic("new", 1), CreateTopicsResponse, 5)
    assert answer.topics[0].error_code == ErrorCode.POLICY_VIOLATION
    assert answer.topics[0].error_message == "POLICY_VIOLATION: a fault that this test asked for"
    assert kafka.topics == ["other", "t"]
