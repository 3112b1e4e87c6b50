"""The forgetting disk (crash/forgetting.py), slow, faulty and out of order, by a plan.

Every call comes by `call`: a job in a thread is suspended there for a while; a fault of the plan
may make it fail; the machine may end there. What the disk then holds is decided in that moment,
and nothing that the dying process still does can reach it. Names are as long as Linux allows, and
no more files are open at a time than the plan does.
"""

import errno
import os
import sys
from collections.abc import Callable
from random import Random

from tests.crash.forgetting import Directory, ForgettingFile, ForgettingFiles, Inode, PowerCut
from tests.simulation.plan import Fault

from kafkaesque.log.files import File, Lock
from kafkaesque.types import Buffer

_MAX_NAME_BYTES = 255
_COLD_READS = 0.15
_SLOW_SECONDS = 2.0
_FREE_THREADS = 0.95
_GROWING = ("write", "create")
_CODES = {"full": errno.ENOSPC, "descriptors": errno.EMFILE}


class SimulatedFiles(ForgettingFiles):
    def __init__(
        self,
        seed: str,
        root: Directory | None,
        faults: tuple[Fault, ...],
        descriptors: int | None = None,
    ) -> None:
        super().__init__(root)
        self.is_off = False
        self.survivor: Directory | None = None
        self.calls = 0
        self.crash_after: tuple[int, str] | None = None
        self.fired: list[tuple[Fault, str]] = []
        self.now: Callable[[], float] = lambda: 0.0
        self.pause: Callable[[float], None] = lambda seconds: None
        self.on_crash: Callable[[str], None] = lambda kind: None
        self.on_fault: Callable[[str, Fault, str], None] = lambda operation, fault, path: None
        self._seed = seed
        self._faults = faults
        self._fired_times = dict.fromkeys(faults, 0)
        self._randoms: dict[str, Random] = {}
        self.process = 1
        self.descriptors_left = self._descriptors = descriptors or sys.maxsize

    def crash(self, kind: str) -> None:
        """The machine (cut) or the process (kill) ends here and now."""
        if not self.is_off:
            self.survivor = self._root
            if kind == "cut":
                self.survivor = self.cut(Random(f"{self._seed} cut"))._root
            self.is_off = True
            self.on_crash(kind)

    def end_process(self) -> None:
        """The one that held the locks and the files has ended, and another begins."""
        self._locked.clear()
        self.process += 1
        self.descriptors_left = self._descriptors

    def call(self, operation: str, path: str) -> Fault | None:
        """Before each file call: a fault that the caller carries out, if it is not raised here."""
        self._check_power()
        self.calls += 1
        if self.crash_after is not None and self.calls >= self.crash_after[0]:
            self.crash(self.crash_after[1])
            raise PowerCut
        self.pause(self._delay(operation, path))
        self._check_power()
        fault = self._fault(operation, path)
        if fault is not None:
            self._raise(fault, operation)
        return fault

    def _check_power(self) -> None:
        if self.is_off:
            raise PowerCut

    def _delay(self, operation: str, path: str) -> float:
        draw = self.random(path).random()
        if operation not in ("sync", "sync_directory"):
            return draw * 0.0004
        return 0.0005 + draw * 0.008 if draw < 0.93 else draw * 0.3

    def thread_delay(self, job: str) -> float:
        """How long a job waits until one of the threads is free: mostly one is."""
        draw = self.random("threads").random()
        delay = 0.0 if draw < _FREE_THREADS else (draw - _FREE_THREADS) * _SLOW_SECONDS
        return delay if self._fault("thread", job) is None else _SLOW_SECONDS

    def random(self, path: str) -> Random:
        """One for each directory: what is done in one does not change what befalls another."""
        name = path.split("/", 3)[2] if path.count("/") > 1 else path
        if name not in self._randoms:
            self._randoms[name] = Random(f"{self._seed} {name}")
        return self._randoms[name]

    def _fault(self, operation: str, path: str) -> Fault | None:
        fault = self.due(operation, path)
        if fault is not None:
            self._fired_times[fault] += 1
            self.fired.append((fault, path))
            self.on_fault(operation, fault, path)
        return fault

    def due(self, operation: str, path: str) -> Fault | None:
        """The fault that such a call would meet now."""
        now = self.now()
        for fault in self._faults:
            if (
                fault.at <= now < fault.until
                and operation in fault.operations
                and fault.path in path
                and self._fired_times[fault] < fault.times
            ):
                return fault
        return None

    def _raise(self, fault: Fault, operation: str) -> None:
        if fault.kind in ("slow", "late"):
            self.pause(_SLOW_SECONDS)
            self._check_power()
        if fault.kind == "slow" or (fault.kind == "full" and operation not in _GROWING):
            return
        if operation not in ("sync", "write"):
            raise failure(fault)

    def check_descriptors(self) -> None:
        if not self.descriptors_left:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def open(self, path: str, *, create: bool = False) -> File:
        self.call("open", path)
        self.check_descriptors()
        if create and not super().exists(path):
            _check_length(path)
            self.call("create", path)
        parent, name = self._parent(path)
        super().open(path, create=create)
        node = parent.cache[name]
        assert isinstance(node, Inode)
        return SimulatedFile(self, node, path)

    def size(self, path: str) -> int:
        parent, name = self._parent(path)
        node = self._node(parent, name, path)
        assert isinstance(node, Inode)
        return len(node.cache)

    def names(self, directory: str) -> list[str]:
        self._check_power()
        return super().names(directory)

    def make_directory(self, path: str) -> None:
        _check_length(path)
        self.call("create", path)
        super().make_directory(path)

    def rename(self, old: str, new: str) -> None:
        _check_length(new)
        self.call("rename", old)
        super().rename(old, new)

    def remove(self, path: str) -> None:
        self.call("remove", path)
        super().remove(path)

    def sync_directory(self, path: str) -> None:
        self.call("sync_directory", path + "/")
        self.check_descriptors()
        super().sync_directory(path)

    def lock(self, path: str) -> Lock | None:
        self._check_power()
        return super().lock(path)


class SimulatedFile(ForgettingFile):
    def __init__(self, files: SimulatedFiles, inode: Inode, path: str) -> None:
        super().__init__(files, inode)
        self._simulated = files
        self._path = path
        self._process: int | None = files.process
        files.descriptors_left -= 1

    def close(self) -> None:
        if self._process == self._simulated.process:
            self._simulated.descriptors_left += 1
        self._process = None

    def __del__(self) -> None:
        self.close()

    def pwrite(self, data: Buffer, position: int) -> None:
        fault = self._simulated.call("write", self._path)
        if fault is not None and fault.kind != "slow":
            fits = self._simulated.random(self._path).randrange(len(data) + 1)
            if fault.kind == "full":
                fits = min(len(data), max(0, self.size() - position))
                if fits == len(data):
                    super().pwrite(data, position)
                    return
            super().pwrite(memoryview(data)[:fits], position)
            raise failure(fault)
        super().pwrite(data, position)

    def pread(self, size: int, position: int) -> bytes:
        self._simulated.call("read", self._path)
        return super().pread(size, position)

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        is_cold = self._simulated.random(self._path).random() < _COLD_READS
        if is_cold or self._simulated.due("read", self._path):
            return None
        return bytes(self._inode.cache[position : position + size])

    def truncate(self, size: int) -> None:
        self._simulated.call("truncate", self._path)
        super().truncate(size)

    def sync(self) -> None:
        fault = self._simulated.call("sync", self._path)
        if fault is not None and fault.kind in ("eio", "late"):
            self._inode.fail_sync(self._simulated.random(self._path))
            raise failure(fault)
        super().sync()


def failure(fault: Fault) -> OSError:
    code = _CODES.get(fault.kind, errno.EIO)
    return OSError(code, os.strerror(code))


def _check_length(path: str) -> None:
    if len(os.path.basename(path).encode()) > _MAX_NAME_BYTES:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
