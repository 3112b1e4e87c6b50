"""Fetch on the wire: how much one response holds, and what a long poll waits for."""

from collections.abc import Iterator

import pytest
from tests.wire.client import RawClient
from tests.wire.requests import batch, create_topic, produce, produce_answer

from kafkaesque.protocol.messages.create_topics import CreateTopicsResponse
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafkaesque.testing import Kafka

VERSION = 11
MB = 1 << 20
LONG_MS = 30_000


@pytest.fixture
def client(kafka: Kafka) -> Iterator[RawClient]:
    with RawClient(kafka.bootstrap_servers) as raw:
        raw.call(create_topic("t", 3), CreateTopicsResponse, 7)
        yield raw


def fetch_all(min_bytes: int, max_wait_ms: int) -> FetchRequest:
    """Of all three partitions, from the start."""
    partitions = [
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=50 * MB)
        for number in range(3)
    ]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=50 * MB,
        session_epoch=-1,
        topics=[FetchTopic(topic="t", partitions=partitions)],
    )


def fetched(response: FetchResponse) -> dict[int, int]:
    """Bytes by partition."""
    (topic,) = response.responses
    return {each.partition_index: len(each.records or b"") for each in topic.partitions}


def put(client: RawClient, partition: int, size: int) -> int:
    records = batch([bytes(size)])
    client.send(produce("t", partition, records), 9)
    assert produce_answer(client.receive()).error_code == 0
    return len(records)


def test_one_response_holds_two_megabytes_unless_more_is_asked_for(client: RawClient) -> None:
    for partition in (0, 1, 2):
        for _ in range(2):
            size = put(client, partition, 900_000)
    some = fetched(client.call(fetch_all(1, LONG_MS), FetchResponse, VERSION))
    assert some == {0: 2 * size, 1: 0, 2: 0}
    more = fetched(client.call(fetch_all(5 * size, LONG_MS), FetchResponse, VERSION))
    assert more == {0: 2 * size, 1: 2 * size, 2: size}


def test_a_long_poll_adds_up_what_comes_to_all_of_its_partitions(
    kafka: Kafka, client: RawClient
) -> None:
    first = put(client, 0, 100)
    client.send(fetch_all(first + 300, LONG_MS), VERSION)
    with RawClient(kafka.bootstrap_servers) as writer:
        second = put(writer, 1, 100)
        third = put(writer, 2, 100)
    response = client.receive()
    assert isinstance(response, FetchResponse)
    assert fetched(response) == {0: first, 1: second, 2: third}


def test_a_long_poll_whose_time_is_over_brings_what_there_is(client: RawClient) -> None:
    first = put(client, 0, 100)
    response = client.call(fetch_all(MB, 50), FetchResponse, VERSION)
    assert fetched(response) == {0: first, 1: 0, 2: 0}
    assert all(each.error_code == 0 for each in response.responses[0].partitions)
