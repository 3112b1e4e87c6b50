"""Kafka's own kafka-dump-log reads compacted segments: horizons, markers, empty batches, index."""

import re
from pathlib import Path

import pytest
from tests.compat.dump_log import Dump, dump
from tests.unit.log.compacting import all_batches, compact_disk, keyed, known, pairs, rules
from tests.unit.log.logs import NOW, flush

from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import OsFiles
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.records.batch import Codec, read_header
from kafkaesque.records.control import Marker, new_marker

pytestmark = [pytest.mark.compat, pytest.mark.timeout(600)]

PRODUCER = 6
GAP = re.compile(r"Non-consecutive offsets|is followed by")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Twice compacted: batches in every codec, tombstones, a marker, a producer's empty header."""
    directory = tmp_path_factory.mktemp("orders-0")
    segments, config = DiskSegments(OsFiles(), str(directory)), LogConfig(index_interval_bytes=100)
    log = Log.open(segments, config)
    for codec in Codec:
        keyed(log, ("a", "1"), (codec.name, "2"), ("a", "3"), codec=codec)
        keyed(log, (f"no {codec.name}", "1"), (f"no {codec.name}", None), codec=codec)
    marker = new_marker(log.end_offset, 5, 0, Marker.COMMIT, NOW)
    log.append(marker, read_header(marker), NOW)
    last = keyed(log, ("a", "4"), producer_id=PRODUCER, producer_epoch=0, base_sequence=8)
    keyed(log, ("a", "5"))
    log.roll()
    flush(log)
    for _ in range(2):
        given = rules(log, producers=known(PRODUCER, last_offset=last))
        assert compact_disk(log, OsFiles(), given, directory=str(directory))
    log.close(clean=True)
    return Log.open(segments, config, clean=True)


@pytest.fixture(scope="module")
def dumped(log: Log) -> Dump:
    store = log._store
    assert isinstance(store, DiskSegments)
    files = Path(store.directory).glob(f"{0:020d}.*")
    return dump(files, "--deep-iteration", "--print-data-log")


def test_the_tool_finds_no_fault_but_the_gaps(dumped: Dump) -> None:
    assert [fault for fault in dumped.faults if not GAP.search(fault)] == []


def test_the_tool_reads_the_batches_and_records_that_we_read(log: Log, dumped: Dump) -> None:
    headers = [header for _, header in all_batches(log)]
    assert [(b.base_offset, b.last_offset, b.count) for b in dumped.batches] == [
        (header.base_offset, header.last_offset, header.count) for header in headers
    ]
    assert 0 in {header.count for header in headers}
    assert {batch.codec for batch in dumped.batches} == {codec.name.lower() for codec in Codec}
    assert [(r.offset, r.key, r.payload) for r in dumped.records if r.key is not None] == pairs(log)


def test_index_entries_point_at_batches(dumped: Dump) -> None:
    places = {(batch.last_offset, batch.position) for batch in dumped.batches}
    assert dumped.index_entries
    assert set(dumped.index_entries) <= places
