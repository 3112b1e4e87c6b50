"""The simulated disk, with one fault at one call of the broker, by its number in the run.

Every method of `Files` and `File` is a call here, also those that the random plans let pass.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.crash.forgetting import Inode
from tests.simulation.faults.sites import Site, family, is_called_by_the_broker, where
from tests.simulation.files import SimulatedFile, SimulatedFiles, failure
from tests.simulation.plan import Fault

from kafkaesque.log.files import File, Lock
from kafkaesque.types import Buffer


@dataclass(slots=True)
class Witness:
    """Counts the file calls of all lives of a run; notes the sites, or makes one call fail."""

    fault: Fault | None = None
    number: int = -1
    """Of the call that meets the fault."""
    calls: int = 0
    sites: list[Site] = field(default_factory=list)
    fired_at: float | None = None
    state: Callable[[], str] = lambda: ""

    def meets(self, operation: str, path: str) -> Fault | None:
        """Of the call whose method has called this one."""
        caller = sys._getframe(2)
        if not is_called_by_the_broker(caller):
            return None
        self.calls += 1
        if self.fault is None:
            self.sites.append(Site(family(path), operation, where(caller), self.state()))
        return self.fault if self.calls == self.number else None


class FaultyFiles(SimulatedFiles):
    witness: Witness

    def fault(self, fault: Fault, operation: str, path: str) -> OSError:
        """Note it, and make the error of it."""
        self.witness.fired_at = self.now()
        self.fired.append((fault, path))
        self.on_fault(operation, fault, path)
        return failure(fault)

    def open(self, path: str, *, create: bool = False) -> File:
        is_new = create and not super().exists(path)
        operation = "Files.open to create" if is_new else "Files.open"
        if fault := self.witness.meets(operation, path):
            raise self.fault(fault, operation, path)
        opened = super().open(path, create=create)
        assert isinstance(opened, SimulatedFile)
        return FaultyFile(self, opened._inode, path)

    def names(self, directory: str) -> list[str]:
        if fault := self.witness.meets("Files.names", directory):
            raise self.fault(fault, "names", directory)
        return super().names(directory)

    def size(self, path: str) -> int:
        if fault := self.witness.meets("Files.size", path):
            raise self.fault(fault, "size", path)
        return super().size(path)

    def exists(self, path: str) -> bool:
        if fault := self.witness.meets("Files.exists", path):
            raise self.fault(fault, "exists", path)
        return super().exists(path)

    def is_directory(self, path: str) -> bool:
        if fault := self.witness.meets("Files.is_directory", path):
            raise self.fault(fault, "is_directory", path)
        return super().is_directory(path)

    def make_directory(self, path: str) -> None:
        if fault := self.witness.meets("Files.make_directory", path):
            raise self.fault(fault, "make_directory", path)
        super().make_directory(path)

    def rename(self, old: str, new: str) -> None:
        if fault := self.witness.meets("Files.rename", old):
            raise self.fault(fault, "rename", old)
        super().rename(old, new)

    def remove(self, path: str) -> None:
        if fault := self.witness.meets("Files.remove", path):
            raise self.fault(fault, "remove", path)
        super().remove(path)

    def remove_tree(self, path: str) -> None:
        if fault := self.witness.meets("Files.remove_tree", path):
            for name in super().names(path)[: fault.kind == "short"]:
                super().remove(f"{path}/{name}")
            raise self.fault(fault, "remove_tree", path)
        super().remove_tree(path)

    def sync_directory(self, path: str) -> None:
        if fault := self.witness.meets("Files.sync_directory", path):
            raise self.fault(fault, "sync_directory", path)
        super().sync_directory(path)

    def lock(self, path: str) -> Lock | None:
        if fault := self.witness.meets("Files.lock", path):
            raise self.fault(fault, "lock", path)
        return super().lock(path)


class FaultyFile(SimulatedFile):
    def __init__(self, files: FaultyFiles, inode: Inode, path: str) -> None:
        super().__init__(files, inode, path)
        self._faulty = files

    def pwrite(self, data: Buffer, position: int) -> None:
        if fault := self._faulty.witness.meets("File.pwrite", self._path):
            if fault.kind != "eio":
                super().pwrite(memoryview(data)[: len(data) // 2], position)
            raise self._faulty.fault(fault, "pwrite", self._path)
        super().pwrite(data, position)

    def pread(self, size: int, position: int) -> bytes:
        if fault := self._faulty.witness.meets("File.pread", self._path):
            raise self._faulty.fault(fault, "pread", self._path)
        return super().pread(size, position)

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        if fault := self._faulty.witness.meets("File.pread_nowait", self._path):
            raise self._faulty.fault(fault, "pread_nowait", self._path)
        return super().pread_nowait(size, position)

    def read_no_further(self) -> None:
        if fault := self._faulty.witness.meets("File.read_no_further", self._path):
            raise self._faulty.fault(fault, "read_no_further", self._path)
        super().read_no_further()

    def truncate(self, size: int) -> None:
        if fault := self._faulty.witness.meets("File.truncate", self._path):
            raise self._faulty.fault(fault, "truncate", self._path)
        super().truncate(size)

    def sync(self) -> None:
        if fault := self._faulty.witness.meets("File.sync", self._path):
            if fault.kind == "short":
                self._inode.fail_sync(self._faulty.random(self._path))
            else:
                self._inode._settle(self._inode.disk)
            raise self._faulty.fault(fault, "sync", self._path)
        super().sync()

    def drop_cache(self, position: int) -> None:
        if fault := self._faulty.witness.meets("File.drop_cache", self._path):
            raise self._faulty.fault(fault, "drop_cache", self._path)
        super().drop_cache(position)

    def size(self) -> int:
        if fault := self._faulty.witness.meets("File.size", self._path):
            raise self._faulty.fault(fault, "size", self._path)
        return super().size()

    def close(self) -> None:
        if fault := self._faulty.witness.meets("File.close", self._path):
            raise self._faulty.fault(fault, "close", self._path)
        super().close()
