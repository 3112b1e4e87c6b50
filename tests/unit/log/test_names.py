"""Which names in a partition's directory are ours, and what becomes of the others."""

import pytest
from tests.unit.log.logs import DIRECTORY, append_many, flush, new_disk, open_log, read_all

from kafkaesque.log.names import is_ours

OURS = [
    *(f"{7:020d}{suffix}" for suffix in (".log", ".index", ".timeindex", ".producers")),
    *(f"{7:020d}.{name}.{end}" for name in ("log", "index") for end in ("cleaned", "swap")),
    f"{7:020d}.producers.tmp",
    "partition.metadata",
    "partition.metadata.tmp",
]
FOREIGN = [
    "copy.log",
    "copy.log.swap",
    "copy.index.cleaned",
    "notes.tmp",
    "7.log",
    "7.producers",
    f"{7:020d}",
    f"{7:020d}.log.bak",
    f"{7:020d}.producers.swap",
    *("a" * 20 + ending for ending in (".log", ".log.swap", ".index", ".producers")),
    *("\u0663" * 20 + ending for ending in (".log", ".timeindex.swap", ".producers")),
    *("9" * 20 + ending for ending in (".log", ".log.swap", ".index", ".producers")),
    ".DS_Store",
]


def test_names_are_told_apart() -> None:
    assert [name for name in OURS if not is_ours(name)] == []
    assert [name for name in FOREIGN if is_ours(name)] == []


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_log_leaves_files_of_foreign_names_alone(name: str, clean: bool) -> None:
    files = new_disk()
    log = open_log(files)
    batches = append_many(log, 5)
    flush(log)
    files.open(f"{DIRECTORY}/{name}", create=True).pwrite(b"foreign", 0)
    again = open_log(files.kill(), recovery_point=5 if clean else None, clean=clean)
    assert read_all(again) == b"".join(batches)
    again.truncate(3)
    again.remove_cleaned()
    assert name in files.names(DIRECTORY)


def test_a_log_that_begins_anew_leaves_files_of_foreign_names_alone() -> None:
    files = new_disk()
    log = open_log(files)
    append_many(log, 5)
    flush(log)
    for name in FOREIGN:
        files.open(f"{DIRECTORY}/{name}", create=True)
    open_log(files, log_start_offset=9)
    kept = [f"{9:020d}.log", *FOREIGN]
    assert sorted(files.names(DIRECTORY)) == sorted(kept)
