"""The seam to the disk: every file call of the log goes through `File` and `Files`.

`OsFiles` is the operating system. The tests' twin keeps a disk and a page cache in memory and
forgets, tears and reorders whatever was not synced. So the rules are the disk's own:
- bytes are durable after `File.sync`; names (created, renamed, removed) after `sync_directory`;
- after a failed `sync` the page cache is no witness any more: see Log.recover_from_failed_flush.
A file is closed when its last holder lets go of it, never under a reader in another thread: a
descriptor number that is reused at once would serve one partition's bytes for another's.
Only the broker's user and group may read what is made here.
Above: segment.py, index.py, disk.py, directory.py. Below: os.
"""

import errno
import fcntl
import mmap
import os
import resource
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from kafkaesque.types import Buffer


class File(Protocol):
    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of it, or raise OSError with any part of it written."""

    def pread(self, size: int, position: int) -> bytes:
        """Fewer bytes than asked for only where the file ends."""

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        """The same without waiting for the disk: None where the page cache lacks any of it."""

    def read_no_further(self) -> None:
        """Have later reads bring in what they ask for, and nothing ahead of it."""

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return once every byte written, and the size, would survive a power cut."""

    def drop_cache(self, position: int) -> None:
        """Forget cached bytes from there on that do not wait to be written: reads ask the disk."""

    def size(self) -> int: ...

    def close(self) -> None: ...


class Lock(Protocol):
    def release(self) -> None: ...


class Files(Protocol):
    def open(self, path: str, *, create: bool = False) -> File: ...

    def names(self, directory: str) -> list[str]: ...

    def size(self, path: str) -> int: ...

    def exists(self, path: str) -> bool:
        """Raises OSError where the disk does not tell."""

    def is_directory(self, path: str) -> bool:
        """The same."""

    def make_directory(self, path: str) -> None: ...

    def rename(self, old: str, new: str) -> None: ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, path: str) -> None: ...

    def sync_directory(self, path: str) -> None: ...

    def lock(self, path: str) -> Lock | None:
        """Hold the file until released or the process ends. None: another process has it."""


class NotCachedError(Exception):
    """A read that must not wait would have had to."""


def fetch(file: File, size: int, position: int, wait: bool) -> Buffer:
    """Exactly these bytes. Raises NotCachedError where they are not cached and `wait` is false."""
    data = file.pread(size, position) if wait else file.pread_nowait(size, position)
    if data is None:
        raise NotCachedError
    if len(data) != size:
        raise OSError(errno.EIO, f"the file ends before byte {position + size}")
    return data


TEMPORARY = ".tmp"
"""What follows the name of a file that is being written, to take its place when it is whole."""
_REMOVAL_ATTEMPTS = 5
"""A child that compacts may still write into a directory while it is being emptied."""
# What file systems and kernels answer that cannot read without waiting.
_NO_NOWAIT = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}
_NOWAIT_FLAG: int = getattr(os, "RWF_NOWAIT", 0)
_fdatasync = getattr(os, "fdatasync", os.fsync)
_FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)
_NO_FULL_SYNC = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY}
_FILE_MODE, _DIRECTORY_MODE = 0o640, 0o750
SPARE_DESCRIPTORS: Final = 64
"""Kept free by whoever opens files for long: for segments that roll, and for clean-up."""


def _sync(descriptor: int, sync: Callable[[int], None]) -> None:
    """On macOS `sync` leaves bytes in the drive's own cache, which a power cut empties."""
    if _FULL_SYNC is not None:
        try:
            fcntl.fcntl(descriptor, _FULL_SYNC)
            return
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC:
                raise
    sync(descriptor)


def descriptors_left() -> int:
    """How many more files this process may hold open, connections included."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    try:
        # One of them is that of the listing itself.
        return max(limit - len(os.listdir("/dev/fd")) + 1, 0)
    except OSError as error:
        return 0 if error.errno in (errno.EMFILE, errno.ENFILE) else limit


class OsFile:
    __slots__ = ("_descriptor", "_nowait", "_reads_ahead")

    def __init__(self, path: str, create: bool) -> None:
        self._descriptor = -1
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        self._descriptor = os.open(path, flags, _FILE_MODE)
        self._nowait = bool(_NOWAIT_FLAG)
        self._reads_ahead = hasattr(os, "posix_fadvise")

    def pwrite(self, data: Buffer, position: int) -> None:
        written = os.pwrite(self._descriptor, data, position)
        while written < len(data):
            rest = memoryview(data)[written:]
            written += os.pwrite(self._descriptor, rest, position + written)

    def pread(self, size: int, position: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size:
            return data
        return self._pread_rest(data, size, position)

    def _pread_rest(self, data: bytes, size: int, position: int) -> bytes:
        """Only the end of the file may cut a read short: Linux also stops at 2 GiB."""
        while len(data) < size:
            more = os.pread(self._descriptor, size - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        if not self._nowait:
            return self.pread(size, position)
        data = bytearray(size)
        try:
            count = os.preadv(self._descriptor, [data], position, _NOWAIT_FLAG)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno not in _NO_NOWAIT:
                raise
            self._nowait = False
            return self.pread(size, position)
        return data if count == size else None

    def read_no_further(self) -> None:
        if self._reads_ahead:
            self._reads_ahead = False
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def sync(self) -> None:
        _sync(self._descriptor, _fdatasync)

    def drop_cache(self, position: int) -> None:
        if hasattr(os, "posix_fadvise"):
            # Linux keeps a page that the range covers in part.
            start = position - position % mmap.PAGESIZE
            os.posix_fadvise(self._descriptor, start, 0, os.POSIX_FADV_DONTNEED)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    __del__ = close


class OsLock:
    """flock, which the kernel releases with the process: no stale lock after a kill -9."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _mode(path: str) -> int | None:
    """None: nothing is there. os.path says so too where the disk fails, and what it holds would be
    taken for gone.
    """
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


class OsFiles:
    def open(self, path: str, *, create: bool = False) -> File:
        return OsFile(path, create)

    def names(self, directory: str) -> list[str]:
        return os.listdir(directory)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def exists(self, path: str) -> bool:
        return _mode(path) is not None

    def is_directory(self, path: str) -> bool:
        mode = _mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def make_directory(self, path: str) -> None:
        os.mkdir(path, _DIRECTORY_MODE)

    def rename(self, old: str, new: str) -> None:
        os.rename(old, new)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_tree(self, path: str) -> None:
        # Not shutil's, which holds descriptors open: removing must be possible where none is left.
        for _ in range(_REMOVAL_ATTEMPTS):
            for name in os.listdir(path):
                self._remove_entry(f"{path}/{name}")
            try:
                os.rmdir(path)
                return
            except OSError as error:
                if error.errno != errno.ENOTEMPTY:
                    raise
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    def _remove_entry(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            self.remove_tree(path)
            return
        with suppress(FileNotFoundError):
            os.remove(path)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sync(descriptor, os.fsync)
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> Lock | None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        # Who holds it is only said: on a full disk the lock itself still does.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        return OsLock(descriptor)


def write_atomically(files: Files, path: str, data: Buffer) -> None:
    """After a power cut the file is the old one or the new one, never a mixture."""
    temporary = path + TEMPORARY
    try:
        file = files.open(temporary, create=True)
        try:
            file.truncate(0)
            file.pwrite(data, 0)
            file.sync()
        finally:
            file.close()
        files.rename(temporary, path)
    except OSError:
        # A disk that is full has room for others then.
        with suppress(OSError):
            files.remove(temporary)
        raise
    files.sync_directory(os.path.dirname(path))


def write_synced(files: Files, path: str, data: Buffer, position: int) -> None:
    """Write into a file, in place. Durable when it returns, but for the file's name."""
    file = files.open(path, create=True)
    try:
        file.pwrite(data, position)
        file.sync()
    finally:
        file.close()


def read_whole(files: Files, path: str) -> bytes | None:
    """All of a small file, or None where there is no such file."""
    try:
        file = files.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.pread(file.size(), 0)
    finally:
        file.close()
