"""The log alone: append and read, in memory and on disk. Reads come from the page cache."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import cycle

from benchmarks.micro.case import Case, Operation
from tests.wire.requests import batch

from kafkaesque.log.config import LogConfig
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import OsFiles
from kafkaesque.log.log import Log
from kafkaesque.log.memory import MemorySegments
from kafkaesque.records.batch import read_header, stamp

_NOW_MS = 1_700_000_000_000
_BATCHES = 1000
_READ_BYTES = 64 * 1024


@asynccontextmanager
async def _log(on_disk: bool) -> AsyncIterator[Log]:
    with tempfile.TemporaryDirectory() as directory:
        store = DiskSegments(OsFiles(), directory) if on_disk else MemorySegments()
        log = Log.open(store, LogConfig())
        yield log
        log.close(clean=False)


def _appending(log: Log) -> Operation:
    records = batch([bytes(1024)])

    def append() -> None:
        stamp(records, 0, log.end_offset, 0)
        log.append(records, read_header(records), _NOW_MS)

    return append


@asynccontextmanager
async def _append(on_disk: bool) -> AsyncIterator[Operation]:
    async with _log(on_disk) as log:
        yield _appending(log)


@asynccontextmanager
async def _read(on_disk: bool) -> AsyncIterator[Operation]:
    """As a consumer that follows: each read begins where the last one ended."""
    async with _log(on_disk) as log:
        append = _appending(log)
        for _ in range(_BATCHES):
            append()
        whole = _READ_BYTES // (log.size // _BATCHES)
        offsets = cycle(range(0, _BATCHES - whole, whole))

        def read() -> None:
            found = log.read(next(offsets), _READ_BYTES, log.end_offset).read_nowait()
            if not found:
                raise RuntimeError("nothing was read")

        yield read


CASES = [
    Case(f"log: {name}, {'disk' if on_disk else 'memory'}", partial(prepare, on_disk))
    for name, prepare in (("append 1 KB", _append), ("read 64 KB", _read))
    for on_disk in (False, True)
]
