"""Keys land where Java's client puts them."""

import pytest

from kafkaesque.records.murmur2 import murmur2, partition_for_key


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_those_of_kafkas_own_tests(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected


def test_key1_of_three_partitions_goes_to_partition_2() -> None:
    assert partition_for_key(b"key1", 3) == 2


def test_a_negative_hash_loses_its_sign_bit_not_its_sign() -> None:
    assert murmur2(b"21") < 0
    assert partition_for_key(b"21", 1000) == (-973932308 & 0x7FFFFFFF) % 1000 == 340
