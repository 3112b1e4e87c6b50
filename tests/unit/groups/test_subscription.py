"""Subscriptions and assignments as bytes, beside aiokafka's codec."""

import struct

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocol
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.groups.subscription import (
    decode_assignment,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from kafkaesque.types import TopicPartition

TOPICS = st.text("abcXYZ019._-", min_size=1, max_size=12)
PARTITIONS = st.frozensets(st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1)))
USER_DATA = st.none() | st.binary(max_size=20)


def _assignment(partitions: frozenset[TopicPartition], user_data: bytes | None) -> bytes:
    """As aiokafka writes it."""
    topics: dict[str, list[int]] = {}
    for name in sorted(partitions):
        topics.setdefault(name.topic, []).append(name.partition)
    data: bytes = ConsumerProtocol.ASSIGNMENT(0, list(topics.items()), user_data).encode()
    return data


@given(st.lists(TOPICS, unique=True), USER_DATA)
def test_a_subscription_is_written_as_aiokafka_writes_it(
    topics: list[str], user_data: bytes | None
) -> None:
    theirs = ConsumerProtocol.METADATA(0, topics, user_data).encode()
    assert encode_subscription(topics, user_data) == theirs


@given(st.lists(st.lists(TOPICS), max_size=3), USER_DATA)
def test_the_subscriptions_of_aiokafka_are_read(
    members: list[list[str]], user_data: bytes | None
) -> None:
    written = [ConsumerProtocol.METADATA(0, topics, user_data).encode() for topics in members]
    assert subscribed_topics(written) == frozenset().union(*members)


@given(PARTITIONS)
def test_an_assignment_is_written_as_aiokafka_writes_it(
    partitions: frozenset[TopicPartition],
) -> None:
    assert encode_assignment(partitions) == _assignment(partitions, None)


@given(PARTITIONS, USER_DATA)
def test_the_assignments_of_aiokafka_are_read(
    partitions: frozenset[TopicPartition], user_data: bytes | None
) -> None:
    assert decode_assignment(_assignment(partitions, user_data)) == sorted(partitions)


def test_no_bytes_assign_nothing() -> None:
    assert decode_assignment(b"") == []


@given(PARTITIONS.filter(bool), st.data())
def test_an_assignment_that_is_cut_off_is_refused_or_all_there(
    partitions: frozenset[TopicPartition], data: st.DataObject
) -> None:
    whole = encode_assignment(partitions)
    cut = data.draw(st.integers(1, len(whole) - 1))
    if cut >= len(whole) - 4:  # Only the user data, which is not looked at, is missing.
        assert decode_assignment(whole[:cut]) == sorted(partitions)
    else:
        with pytest.raises((struct.error, UnicodeDecodeError)):
            decode_assignment(whole[:cut])


@given(st.binary(max_size=64))
def test_any_bytes_are_a_subscription_or_none(data: bytes) -> None:
    found = subscribed_topics([data])
    assert found is None or all(isinstance(topic, str) for topic in found)
