"""The operating system's files with faults on demand: a full disk, a failing fsync. Counts reads.

A thin layer over OsFiles. What forgets, tears and reorders whatever was not synced is elsewhere:
here everything that is written is really there.
"""

import errno
import os
import threading

from kafkaesque.log.files import File, OsFiles
from kafkaesque.types import Buffer


class FaultyFiles(OsFiles):
    """Set a fault, and unset it again: no room, no room for a new name, no fsync, a slow rename.

    `unwritable` is a part of the paths that cannot be opened; `read_bytes` is by path. `broken`
    has, by operation (open, pwrite, sync, rename, remove, remove_tree, sync_directory), a part of
    the paths for which it fails with EIO.
    """

    def __init__(self) -> None:
        self.is_full = False
        self.is_full_for_new_files = False
        self.unwritable: str | None = None
        self.fails_to_sync = False
        self.broken: dict[str, str] = {}
        self.may_rename = threading.Event()
        self.may_rename.set()
        self.is_renaming = threading.Event()
        self.read_bytes: dict[str, int] = {}

    def open(self, path: str, *, create: bool = False) -> File:
        self.check("open", path)
        if self.unwritable and self.unwritable in path:
            raise _no_space()
        if create and not os.path.exists(path):
            self._check_room_for_name()
        return _FaultyFile(self, path, super().open(path, create=create))

    def make_directory(self, path: str) -> None:
        self._check_room_for_name()
        super().make_directory(path)

    def rename(self, old: str, new: str) -> None:
        self.check("rename", new)
        self.is_renaming.set()
        self.may_rename.wait()
        super().rename(old, new)

    def remove(self, path: str) -> None:
        self.check("remove", path)
        super().remove(path)

    def remove_tree(self, path: str) -> None:
        self.check("remove_tree", path)
        super().remove_tree(path)

    def sync_directory(self, path: str) -> None:
        self.check("sync_directory", path)
        self.check_sync()
        super().sync_directory(path)

    def check(self, operation: str, path: str) -> None:
        part = self.broken.get(operation)
        if part is not None and part in path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def check_room(self) -> None:
        if self.is_full:
            raise _no_space()

    def _check_room_for_name(self) -> None:
        if self.is_full or self.is_full_for_new_files:
            raise _no_space()

    def check_sync(self) -> None:
        if self.fails_to_sync:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


def _no_space() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _FaultyFile:
    def __init__(self, files: FaultyFiles, path: str, file: File) -> None:
        self._files = files
        self._path = path
        self._file = file

    def pwrite(self, data: Buffer, position: int) -> None:
        self._files.check("pwrite", self._path)
        if self._files.is_full:
            # As a real disk: the part that still fits is written.
            self._file.pwrite(memoryview(data)[: len(data) // 2], position)
        self._files.check_room()
        self._file.pwrite(data, position)

    def pread(self, size: int, position: int) -> bytes:
        data = self._file.pread(size, position)
        self._note_read(data)
        return data

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        data = self._file.pread_nowait(size, position)
        self._note_read(data or b"")
        return data

    def _note_read(self, data: Buffer) -> None:
        counts = self._files.read_bytes
        counts[self._path] = counts.get(self._path, 0) + len(data)

    def read_no_further(self) -> None:
        self._file.read_no_further()

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def sync(self) -> None:
        self._files.check("sync", self._path)
        self._files.check_sync()
        self._file.sync()

    def drop_cache(self, position: int) -> None:
        self._file.drop_cache(position)

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()
