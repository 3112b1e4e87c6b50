"""Files of segments whose names become another's while somebody is about to open them.

Reads in threads are late here by order: what happens meanwhile happens within the call that opens.
"""

from collections.abc import Callable

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.compacting import keyed, request, rules
from tests.unit.log.logs import DIRECTORY, append_many, flush, open_log

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.compact import compact, run
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import File
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.segment import SealedSegment
from kafkaesque.log.segment_files import LOG, OpenFiles, SegmentFiles

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)
ASIDE = "/data/orders-0-aside"


class LateFiles(ForgettingFiles):
    """Does something once, just before a file of this suffix is opened."""

    before_open: tuple[str, Callable[[], object]] | None = None

    def open(self, path: str, *, create: bool = False) -> File:
        if self.before_open is not None and path.endswith(self.before_open[0]):
            deed, self.before_open = self.before_open[1], None
            deed()
        return super().open(path, create=create)


def late_disk() -> LateFiles:
    files = LateFiles()
    files.make_directory("/data")
    files.make_directory(DIRECTORY)
    return files


def pooled_log(files: ForgettingFiles, pool: OpenFiles) -> Log:
    log = Log.open(DiskSegments(files, DIRECTORY, pool), SMALL)
    append_many(log, 20)
    flush(log)
    return log


def replace_topic(files: ForgettingFiles, log: Log) -> None:
    """Delete the partition, and make another of its name."""
    log.close(clean=False)
    files.rename(DIRECTORY, ASIDE)
    files.make_directory(DIRECTORY)
    append_many(open_log(files, SMALL), 20, size=30)


@pytest.mark.parametrize("offset", [3, 19])
def test_a_read_of_a_deleted_topic_gets_nothing_of_its_namesake(offset: int) -> None:
    files = late_disk()
    pool = OpenFiles()
    log = pooled_log(files, pool)
    planned = log.read(offset, 1000, 20)
    replace_topic(files, log)
    with pytest.raises(KafkaError) as refused:
        planned.read()
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert len(pool) == 0


@pytest.mark.parametrize("suffix", [".log", ".index"])
def test_a_file_that_is_opened_while_its_topic_is_replaced_is_not_read(suffix: str) -> None:
    files = late_disk()
    pool = OpenFiles()
    log = pooled_log(files, pool)
    planned = log.read(3, 1000, 20)
    files.before_open = suffix, lambda: replace_topic(files, log)
    with pytest.raises(KafkaError, match="its log closed"):
        planned.read()
    assert len(pool) == 0


def test_segments_that_were_left_behind_but_not_removed_are_forgotten_with_their_log() -> None:
    files = late_disk()
    pool = OpenFiles()
    log = pooled_log(files, pool)
    planned = log.read(0, 1000, 20)
    planned.read()
    log.delete_before(10)
    replace_topic(files, log)
    assert len(pool) == 0
    with pytest.raises(KafkaError, match="its log closed"):
        planned.read()


class LatePool(OpenFiles):
    """Forgets a segment while a thread has its file in hand."""

    def __init__(self, forgotten: Callable[[], SegmentFiles]) -> None:
        super().__init__()
        pool = self

        class Late(dict[tuple[SegmentFiles, str], File]):
            def pop(self, *args):  # type: ignore[no-untyped-def]
                file = super().pop(*args)
                if not pool.is_late:
                    pool.is_late = True
                    forgotten().forget()
                return file

        self.is_late = True
        self._open = Late()


def test_a_file_in_use_does_not_come_back_into_the_pool_once_its_segment_is_gone() -> None:
    files = late_disk()
    pool = LatePool(lambda: segment)
    segment = SegmentFiles(files, pool, DIRECTORY, 0)
    segment.create_log()
    file = segment.pooled(LOG)
    pool.is_late = False
    assert segment.pooled(LOG) is file, "who has it already may read on"
    assert len(pool) == 0


def test_a_file_that_is_opened_during_a_swap_is_the_old_one() -> None:
    files = late_disk()
    log = open_log(files, SMALL)
    for number in range(50):
        keyed(log, (f"{number % 10}", f"{number}"))
    log.roll()
    flush(log)
    asked = request(log, rules(log), log.end_offset)
    assert asked is not None
    [cleaned, *_] = run(compact(files, asked), lambda: None).segments
    swap = log.swap([s for s in log.sealed if s.base_offset < cleaned.next_offset], cleaned)
    assert swap is not None
    segment = swap.old[0]
    assert isinstance(segment, SealedSegment)
    expected = segment.file().pread(segment.size, 0)
    segment.files._open_files.forget(segment.files)
    files.before_open = ".log", swap.run
    assert segment.file().pread(segment.size, 0) == expected
