"""The compiled loop over records: what it takes, what it leaves to others, where it is loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from kafkaesque.client.columns import columns_of, compiled
from kafkaesque.client.columns.record_loop import walk
from kafkaesque.client.fetched import Fetched, whole_batches
from kafkaesque.records.batch import Codec, Record, assemble, new_batch, read_header
from kafkaesque.records.record import encode_records
from kafkaesque.types import TopicPartition

HEADERS = (("name", b"value"), ("nothing", None))


def arrays(data: bytes, first: int = 0) -> list[pa.Array] | None:
    return compiled.arrays_of(walk, data, whole_batches(data), first)


def test_it_takes_all_that_producers_send() -> None:
    data = bytearray()
    for base, codec in enumerate(Codec):
        written = [
            Record(base * 3, 2**41, None, b"v" * 300),
            Record(base * 3 + 1, 2**41 - 70_000, b"", None, HEADERS),
            Record(base * 3 + 2, 2**41 + 9, b"key", b"", HEADERS[:1]),
        ]
        data += new_batch(written, base_offset=base * 3, codec=codec)
    found = arrays(bytes(data), 4)
    assert found is not None
    offsets, times, keys, values, headers = (each.to_pylist() for each in found)
    assert offsets == list(range(4, 15))
    assert times[:3] == [2**41 - 70_000, 2**41 + 9, 2**41]
    assert keys[:3] == [b"", b"key", None]
    assert values[:3] == [None, b"", b"v" * 300]
    assert [len(each) for each in headers[:3]] == [2, 1, 0]


def test_a_batch_that_holds_nothing_after_the_offset_gives_no_rows() -> None:
    data = bytes(new_batch([Record(0, 0, b"k", b"v")]))
    assert columns_of(_fetched(data, 1), walk).num_rows == 0
    assert columns_of(_fetched(b"", 1), walk).num_rows == 0


@pytest.mark.parametrize(
    ("header", "records"),
    [
        ({"count": 2**31 - 1}, [Record(0, 0, None, b"v")]),
        ({"count": 1}, [Record(0, 0, None, b"v"), Record(1, 0, None, b"v")]),
        ({"last_offset_delta": 0}, [Record(0, 0, None, b"v"), Record(1, 0, None, b"v")]),
        ({}, [Record(1, 0, None, b"v"), Record(0, 0, None, b"v")]),
        ({}, [Record(0, 2**62 + 1, None, b"v")]),
        ({"base_timestamp": 2**62}, [Record(0, 0, None, b"v")]),
        ({"base_offset": 2**62}, [Record(0, 0, None, b"v")]),
    ],
)
def test_what_is_odd_is_left_to_others(header: dict[str, int], records: list[Record]) -> None:
    sound = new_batch([Record(n, 0, None, b"v") for n in range(len(records))])
    data = assemble(read_header(sound)._replace(**header), encode_records(records, 0, 0))
    assert arrays(bytes(data)) is None


def _fetched(data: bytes, offset: int) -> Fetched:
    place = TopicPartition("ticks", 0)
    return Fetched(place, offset, 0, data, 0, 0, batches=whole_batches(data))


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["missing", "nowhere to keep it"])
def test_without_numba_or_a_place_for_its_code_all_stays_as_it_was(reason: str) -> None:
    code = """
import sys
if REASON == "missing":
    sys.modules["numba"] = None
else:
    from numba.core import caching
    caching.CacheImpl._locator_classes = []
from kafkaesque.client.columns import compiled, records_columns
from kafkaesque.records.batch import Record, new_batch
assert not compiled.load() and compiled.loaded() is None
print(records_columns(bytes(new_batch([Record(0, 0, None, b"v")])))["value"].to_pylist())
""".replace("REASON", repr(reason))
    assert run(code) == "[b'v']"


@pytest.mark.slow
def test_numba_is_loaded_when_it_is_asked_for_and_its_code_is_kept(tmp_path: Path) -> None:
    code = """
import sys
from kafkaesque.client.columns import compiled, records_columns
from kafkaesque.records.batch import Record, new_batch
data = bytes(new_batch([Record(0, 0, None, b"v")]))
records_columns(data)
assert "numba" not in sys.modules and compiled.loaded() is None
assert compiled.load()
records_columns(data)
stats = compiled.loaded().stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
    assert [run(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)] == ["0 1", "1 0"]
