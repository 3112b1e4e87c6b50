"""OsFiles against the real file system; the other tests run on its forgetting twin."""

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from kafkaesque.log.files import OsFiles, fetch, read_whole, write_atomically


@pytest.fixture
def files() -> OsFiles:
    return OsFiles()


def test_what_is_written_is_read_at_its_position(files: OsFiles, tmp_path: Path) -> None:
    file = files.open(str(tmp_path / "a"), create=True)
    file.pwrite(b"0123456789", 0)
    file.pwrite(memoryview(b"xyz"), 4)
    assert file.pread(6, 2) == b"23xyz7"
    assert file.size() == 10
    file.truncate(3)
    assert file.pread(10, 0) == b"012"
    file.sync()


def test_a_cached_read_does_not_wait(files: OsFiles, tmp_path: Path) -> None:
    file = files.open(str(tmp_path / "a"), create=True)
    file.pwrite(b"0123456789", 0)
    data = file.pread_nowait(4, 3)
    assert data is not None
    assert bytes(data) == b"3456"


def test_a_file_without_nowait_is_read_all_the_same(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "preadv", refuse)
    file = files.open(str(tmp_path / "a"), create=True)
    file.pwrite(b"0123456789", 0)
    assert file.pread_nowait(4, 3) == b"3456"
    assert file.pread_nowait(4, 0) == b"0123"


def test_a_write_is_all_or_an_error(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, bytes(data)[:3], at))
    file = files.open(str(tmp_path / "a"), create=True)
    file.pwrite(b"0123456789", 0)
    assert file.pread(10, 0) == b"0123456789"


def test_fetch_says_where_a_file_ends_too_early(files: OsFiles, tmp_path: Path) -> None:
    file = files.open(str(tmp_path / "a"), create=True)
    file.pwrite(b"0123456789", 0)
    assert fetch(file, 4, 6, True) == b"6789"
    with pytest.raises(OSError, match="ends before byte 12"):
        fetch(file, 6, 6, True)


def test_a_dropped_file_closes_its_descriptor_and_a_held_one_does_not(
    files: OsFiles, tmp_path: Path
) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None
    file = files.open(str(tmp_path / "a"), create=True)
    holder = file
    file.pwrite(b"abc", 0)
    del file
    assert holder.pread(3, 0) == b"abc"
    del holder
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) == before


def test_opening_what_is_missing_names_it(files: OsFiles, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        files.open(str(tmp_path / "nowhere"))
    assert read_whole(files, str(tmp_path / "nowhere")) is None


def test_an_atomic_write_replaces_the_file_and_leaves_nothing_else(
    files: OsFiles, tmp_path: Path
) -> None:
    path = str(tmp_path / "a")
    write_atomically(files, path, b"a longer first content")
    write_atomically(files, path, b"second")
    assert read_whole(files, path) == b"second"
    assert files.names(str(tmp_path)) == ["a"]


def _is_locked(path: str) -> bool:
    return OsFiles().lock(path) is None


def test_a_lock_keeps_other_processes_out_until_it_is_released(
    files: OsFiles, tmp_path: Path
) -> None:
    path = str(tmp_path / ".lock")
    lock = files.lock(path)
    assert lock is not None
    assert read_whole(files, path) == f"{os.getpid()}\n".encode()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_is_locked, (path,))
        lock.release()
        assert not pool.apply(_is_locked, (path,))


def test_directories_come_and_go(files: OsFiles, tmp_path: Path) -> None:
    path = str(tmp_path / "d")
    files.make_directory(path)
    files.open(path + "/a", create=True).pwrite(b"abc", 0)
    files.rename(path + "/a", path + "/b")
    files.sync_directory(path)
    assert files.is_directory(path)
    assert not files.is_directory(path + "/b")
    assert files.exists(path + "/b")
    assert files.size(path + "/b") == 3
    files.remove(path + "/b")
    assert files.names(path) == []
    files.remove_tree(path)
    assert not files.exists(path)
