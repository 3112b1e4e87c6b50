"""Where keys are put: learned from records, given up on the first contradiction."""

from zlib import crc32

import pytest

from kafkaesque.gateway.fanout.placement import Partitioner, Placement
from kafkaesque.records.murmur2 import partition_for_key

KEYS = [f"key{number}".encode() for number in range(200)]


def crc_partition(key: bytes, partitions: int) -> int:
    return crc32(key) % partitions


@pytest.mark.parametrize(
    ("name", "partitioner"), [("murmur2", partition_for_key), ("crc32", crc_partition)]
)
def test_a_partitioner_is_known_once_enough_keys_have_shown_it(
    name: str, partitioner: Partitioner
) -> None:
    placement = Placement(12)
    changes = [placement.observe(key, partitioner(key, 12)) for key in KEYS]
    assert placement.name == name
    assert changes.count(True) == 1
    assert {placement.partition_of(key) for key in KEYS} == set(range(12))
    assert all(placement.partition_of(key) == partitioner(key, 12) for key in KEYS)


def test_a_few_keys_show_nothing() -> None:
    placement = Placement(12)
    for key in KEYS[:15]:
        placement.observe(key, partition_for_key(key, 12))
    assert placement.name is None
    assert placement.partition_of(KEYS[0]) is None


def test_the_same_key_again_and_again_shows_nothing() -> None:
    placement = Placement(12)
    for _ in range(100):
        placement.observe(b"key1", partition_for_key(b"key1", 12))
    assert placement.name is None


def test_the_first_contradiction_ends_it_for_good() -> None:
    placement = Placement(12)
    for key in KEYS:
        placement.observe(key, partition_for_key(key, 12))
    wrong = (partition_for_key(b"new", 12) + 1) % 12
    assert placement.observe(b"new", wrong)
    assert placement.is_contradicted
    assert placement.partition_of(KEYS[0]) is None
    assert not placement.observe(KEYS[0], partition_for_key(KEYS[0], 12))
    assert placement.is_contradicted


def test_a_key_that_was_seen_in_its_place_and_then_elsewhere_contradicts() -> None:
    placement = Placement(12)
    for key in KEYS:
        placement.observe(key, partition_for_key(key, 12))
    assert placement.observe(KEYS[0], (partition_for_key(KEYS[0], 12) + 1) % 12)
    assert placement.is_contradicted


def test_records_without_a_key_say_nothing_and_an_empty_key_has_no_place() -> None:
    placement = Placement(12)
    assert not placement.observe(None, 3)
    assert not placement.observe(b"", 3)
    for key in KEYS:
        placement.observe(key, partition_for_key(key, 12))
    assert placement.partition_of(b"") is None
