"""OsFiles against the real file system; the other tests run on its forgetting twin."""

import errno
import fcntl
import multiprocessing
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kafkaesque.log import files as files_module
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import OsFiles, fetch, read_whole, write_atomically
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.types import TopicPartition


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


def test_what_the_disk_does_not_tell_is_not_taken_for_gone(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: str, **options: object) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    (tmp_path / "file").touch()
    for missing in ("missing", "file/missing"):
        assert not files.exists(f"{tmp_path}/{missing}")
        assert not files.is_directory(f"{tmp_path}/{missing}")
    for look in (files.exists, files.is_directory):
        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", failing)
            with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                look(str(tmp_path))


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


class FakeMacOs:
    """fcntl as macOS has it, on a file system that may not know F_FULLFSYNC."""

    F_FULLFSYNC = 51

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.refusal: int | None = None
        monkeypatch.setattr(files_module, "_FULL_SYNC", self.F_FULLFSYNC)
        monkeypatch.setattr(fcntl, "fcntl", self._fcntl)
        monkeypatch.setattr(os, "fsync", lambda descriptor: self.calls.append("fsync"))
        monkeypatch.setattr(
            files_module, "_fdatasync", lambda descriptor: self.calls.append("fsync")
        )

    def _fcntl(self, descriptor: int, command: int) -> int:
        assert command == self.F_FULLFSYNC
        os.fstat(descriptor)
        self.calls.append("full")
        if self.refusal is not None:
            raise OSError(self.refusal, os.strerror(self.refusal))
        return 0


def sync_both(files: OsFiles, directory: Path) -> None:
    files.open(str(directory / "a"), create=True).sync()
    files.sync_directory(str(directory))


def test_on_macos_the_drives_own_cache_is_emptied_too(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = FakeMacOs(monkeypatch)
    sync_both(files, tmp_path)
    assert system.calls == ["full", "full"]


@pytest.mark.parametrize("refusal", [errno.ENOTSUP, errno.EINVAL])
def test_a_file_system_without_a_full_sync_gets_a_plain_one(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    system = FakeMacOs(monkeypatch)
    system.refusal = refusal
    sync_both(files, tmp_path)
    assert system.calls == ["full", "fsync", "full", "fsync"]


def test_a_full_sync_that_fails_is_not_taken_for_one_that_is_not_there(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = FakeMacOs(monkeypatch)
    system.refusal = errno.EIO
    file = files.open(str(tmp_path / "a"), create=True)
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    with pytest.raises(OSError, match="Input/output error"):
        files.sync_directory(str(tmp_path))
    assert system.calls == ["full", "full"]


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize(("mask", "file", "directory"), [(0, 0o640, 0o750), (0o77, 0o600, 0o700)])
def test_nobody_else_may_read_the_data(
    tmp_path: Path, umask: Callable[[int], int], mask: int, file: int, directory: int
) -> None:
    umask(mask)
    data = DataDirectory.open(OsFiles(), str(tmp_path / "data"))
    log = Log.open(data.create_partition(TopicPartition("t", 0), UUID(int=1)), LogConfig())
    data.write_recovery_points({})
    log.roll()
    log.close(clean=True)
    data.close(clean=True)
    for path in (tmp_path / "data", *(tmp_path / "data").rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (directory if path.is_dir() else file), path


def test_a_lock_is_had_on_a_full_disk(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", refuse)
    lock = files.lock(str(tmp_path / ".lock"))
    assert lock is not None
    assert files.lock(str(tmp_path / ".lock")) is None


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_atomic_write_that_fails_leaves_nothing_either(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    path = str(tmp_path / "a")
    write_atomically(files, path, b"old")

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    name = {1: "pwrite", 2: "ftruncate", 3: "rename"}[number]
    monkeypatch.setattr(os, name, refuse)
    with pytest.raises(OSError, match="No space"):
        write_atomically(files, path, b"new")
    assert read_whole(files, path) == b"old"
    assert files.names(str(tmp_path)) == ["a"]


def test_a_tree_is_removed_though_somebody_still_writes_into_it(
    files: OsFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "d"
    (path / "inner").mkdir(parents=True)
    (path / "inner" / "a").touch()
    real, late = os.rmdir, ["b", "c"]

    def rmdir(directory: str) -> None:
        if directory == str(path) and late:
            (path / late.pop()).touch()
        real(directory)

    monkeypatch.setattr(os, "rmdir", rmdir)
    files.remove_tree(str(path))
    assert not path.exists()
