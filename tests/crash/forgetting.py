"""A disk with a page cache, in memory, that forgets: the twin of `OsFiles` for power cuts.

Programs see the cache. The disk has what was synced; of the rest, `cut` lets any part survive:
- bytes, by sectors: each sector is as it was synced or as any write since left it, whatever the
  others are; the size is any that the file has had since;
- names, by operations: any subset of the creates, renames and removes since, each whole or not.
`kill` is a kill -9 instead: the process is gone, the cache stays.

Failures can be ordered: a power cut at the nth change, a full disk, an fsync that fails. After a
failed fsync the cache keeps the bytes, calls them clean, and the disk has any part of them: as on
Linux.
"""

import errno
import os
from collections.abc import Iterator
from random import Random

from kafkaesque.log.files import File, Lock
from kafkaesque.types import Buffer

SECTOR = 512


class PowerCut(BaseException):
    """The machine is off. Not an Exception: nothing may catch it and go on."""


class Inode:
    """A file: what the cache shows, what the disk has, and every version of a sector in between."""

    def __init__(self) -> None:
        self.cache = bytearray()
        self.disk = b""
        self.versions: dict[int, list[bytes]] = {}
        self.sizes: list[int] = []

    def write(self, data: Buffer, position: int) -> None:
        end = position + len(data)
        if len(self.cache) < end:
            self.cache.extend(bytes(end - len(self.cache)))
        self.cache[position:end] = data
        self._remember(position, end)

    def truncate(self, size: int) -> None:
        old = len(self.cache)
        del self.cache[size:]
        self.cache.extend(bytes(size - len(self.cache)))
        self._remember(min(size, old), max(size, old))

    def _remember(self, start: int, end: int) -> None:
        self.sizes.append(len(self.cache))
        for sector in range(start // SECTOR, -(-end // SECTOR)):
            content = bytes(self.cache[sector * SECTOR : (sector + 1) * SECTOR])
            self.versions.setdefault(sector, []).append(content.ljust(SECTOR, b"\0"))

    def sync(self) -> None:
        disk = bytearray(self.disk.ljust(len(self.cache), b"\0"))[: len(self.cache)]
        for sector, versions in self.versions.items():
            start = sector * SECTOR
            end = min(start + SECTOR, len(disk))
            if start < end:
                disk[start:end] = versions[-1][: end - start]
        self._settle(bytes(disk))

    def fail_sync(self, random: Random) -> None:
        self._settle(self.after_cut(random))

    def _settle(self, disk: bytes) -> None:
        self.disk = disk
        self.versions = {}
        self.sizes = []

    def after_cut(self, random: Random) -> bytes:
        """Something that the disk may hold if the power goes now."""
        mood = random.random()
        size = random.choice([len(self.disk), *self.sizes])
        if mood > 0.5 and self.sizes:
            size = self.sizes[-1]
        content = bytearray(self.disk.ljust(size, b"\0"))[:size]
        for sector, versions in self.versions.items():
            start = sector * SECTOR
            end = min(start + SECTOR, size)
            if start < end and random.random() < mood:
                content[start:end] = random.choice(versions)[: end - start]
        return bytes(content)

    def drop_cache(self, position: int) -> None:
        unwritten = {sector: versions[-1] for sector, versions in self.versions.items()}
        size = len(self.cache) if self.sizes else len(self.disk)
        kept = position // SECTOR * SECTOR
        disk = bytearray(self.disk.ljust(size, b"\0"))[:size]
        self.cache = (self.cache[:kept] + disk[kept:])[:size]
        for sector, content in unwritten.items():
            start = sector * SECTOR
            end = min(start + SECTOR, size)
            if start < end:
                self.cache[start:end] = content[: end - start]


class Directory:
    """Names, as the cache has them and as the disk does, and the changes in between."""

    def __init__(self) -> None:
        self.cache: dict[str, Node] = {}
        self.disk: dict[str, Node] = {}
        self.changes: list[tuple[str | None, str | None, Node]] = []

    def change(self, old: str | None, new: str | None, node: "Node") -> None:
        """A create (no old name), a remove (no new one) or a rename."""
        self.changes.append((old, new, node))
        _apply(self.cache, old, new, node)

    def sync(self) -> None:
        self.disk = dict(self.cache)
        self.changes = []


Node = Inode | Directory


def _apply(names: dict[str, Node], old: str | None, new: str | None, node: Node) -> None:
    if old is not None:
        names.pop(old, None)
    if new is not None:
        names[new] = node


class ForgettingFiles:
    def __init__(self, root: Directory | None = None, seed: int = 0) -> None:
        self.operations = 0
        self.cut_at: int | None = None
        self.free_bytes: int | None = None
        self.failing_syncs = 0
        self.pass_syncs = 0
        self.is_cold = False
        self._root = root or Directory()
        self._random = Random(seed)
        self._locked: set[str] = set()

    def cut(self, random: Random) -> "ForgettingFiles":
        """The machine after a power cut and a restart."""
        return ForgettingFiles(_directory_after_cut(self._root, random))

    def kill(self) -> "ForgettingFiles":
        """The machine after the process was killed: a new process, the same cache."""
        return ForgettingFiles(self._root)

    def rot(self, path: str, data: bytes, position: int) -> None:
        """Damage what the disk has; the cache does not know."""
        parent, name = self._parent(path)
        node = self._node(parent, name, path)
        assert isinstance(node, Inode)
        node.disk = node.disk[:position] + data + node.disk[position + len(data) :]

    def change(self) -> None:
        """Every operation that changes something or makes it durable comes by here first."""
        self.operations += 1
        if self.cut_at is not None and self.operations >= self.cut_at:
            raise PowerCut

    def spend(self, inode: Inode, end: int) -> int:
        """How many bytes of a write that ends at `end` still fit on the disk."""
        growth = max(0, end - len(inode.cache))
        if self.free_bytes is None or growth <= self.free_bytes:
            if self.free_bytes is not None:
                self.free_bytes -= growth
            return growth
        fits, self.free_bytes = self.free_bytes, 0
        return fits

    def sync_inode(self, inode: Inode) -> None:
        self.change()
        if self.failing_syncs and self.pass_syncs:
            self.pass_syncs -= 1
        elif self.failing_syncs:
            self.failing_syncs -= 1
            inode.fail_sync(self._random)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        inode.sync()

    def open(self, path: str, *, create: bool = False) -> File:
        parent, name = self._parent(path)
        node = parent.cache.get(name)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            self.change()
            node = Inode()
            parent.change(None, name, node)
        if isinstance(node, Directory):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return ForgettingFile(self, node)

    def names(self, directory: str) -> list[str]:
        return list(self._directory(directory).cache)

    def size(self, path: str) -> int:
        return self.open(path).size()

    def exists(self, path: str) -> bool:
        try:
            parent, name = self._parent(path)
        except FileNotFoundError:
            return False
        return name in parent.cache

    def is_directory(self, path: str) -> bool:
        try:
            self._directory(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def make_directory(self, path: str) -> None:
        parent, name = self._parent(path)
        if name in parent.cache:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self.change()
        parent.change(None, name, Directory())

    def rename(self, old: str, new: str) -> None:
        parent, name = self._parent(old)
        to_parent, to_name = self._parent(new)
        assert to_parent is parent, "the log renames within a directory only"
        node = self._node(parent, name, old)
        self.change()
        parent.change(name, to_name, node)

    def remove(self, path: str) -> None:
        parent, name = self._parent(path)
        node = self._node(parent, name, path)
        self.change()
        parent.change(name, None, node)

    def remove_tree(self, path: str) -> None:
        directory = self._directory(path)
        for name, node in list(directory.cache.items()):
            if isinstance(node, Directory):
                self.remove_tree(f"{path}/{name}")
            else:
                self.remove(f"{path}/{name}")
        self.remove(path)

    def sync_directory(self, path: str) -> None:
        directory = self._directory(path)
        self.change()
        directory.sync()

    def lock(self, path: str) -> Lock | None:
        if path in self._locked:
            return None
        self.open(path, create=True)
        self._locked.add(path)
        return ForgettingLock(self._locked, path)

    def _directory(self, path: str) -> Directory:
        node: Node = self._root
        for name in _parts(path):
            if not isinstance(node, Directory):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            node = self._node(node, name, path)
        if not isinstance(node, Directory):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return node

    def _parent(self, path: str) -> tuple[Directory, str]:
        return self._directory(os.path.dirname(path)), os.path.basename(path)

    def _node(self, directory: Directory, name: str, path: str) -> Node:
        node = directory.cache.get(name)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return node


class ForgettingFile:
    def __init__(self, files: ForgettingFiles, inode: Inode) -> None:
        self._files = files
        self._inode = inode

    def pwrite(self, data: Buffer, position: int) -> None:
        if not len(data):
            return
        fits = self._files.spend(self._inode, position + len(data))
        missing = max(0, position + len(data) - len(self._inode.cache)) - fits
        # A power cut in the middle of a write: the cache has it, and the disk may.
        self._inode.write(memoryview(data)[: len(data) - missing], position)
        self._files.change()
        if missing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def pread(self, size: int, position: int) -> bytes:
        return bytes(self._inode.cache[position : position + size])

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        return None if self._files.is_cold else self.pread(size, position)

    def read_no_further(self) -> None:
        pass

    def truncate(self, size: int) -> None:
        if size != len(self._inode.cache):
            self._inode.truncate(size)
        self._files.change()

    def sync(self) -> None:
        self._files.sync_inode(self._inode)

    def drop_cache(self, position: int) -> None:
        self._inode.drop_cache(position)

    def size(self) -> int:
        return len(self._inode.cache)

    def close(self) -> None:
        pass


class ForgettingLock:
    def __init__(self, locked: set[str], path: str) -> None:
        self._locked = locked
        self._path = path

    def release(self) -> None:
        self._locked.discard(self._path)


def _parts(path: str) -> Iterator[str]:
    return (part for part in path.split("/") if part)


def _directory_after_cut(directory: Directory, random: Random) -> Directory:
    names = dict(directory.disk)
    mood = random.random()
    for old, new, node in directory.changes:
        if random.random() < mood:
            _apply(names, old, new, node)
    after = Directory()
    for name, node in names.items():
        if isinstance(node, Directory):
            after.cache[name] = _directory_after_cut(node, random)
        else:
            survivor = Inode()
            survivor.disk = node.after_cut(random)
            survivor.cache = bytearray(survivor.disk)
            after.cache[name] = survivor
    after.disk = dict(after.cache)
    return after
