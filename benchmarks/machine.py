"""The machine under the brokers: its disk, its limits, its memory, its page cache.

A benchmark that leaves these to chance measures whoever came first.
"""

import os
import platform
import resource
import shutil
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

import confluent_kafka

NEEDED_GB = 15
IN_MEMORY = ("tmpfs", "ramfs")


class DiskError(Exception):
    """There is no disk under the directory, or too little room on it."""


def require_disk(directory: Path) -> None:
    if file_system(directory) in IN_MEMORY:
        raise DiskError(
            f"{directory} is in memory, where a sync costs nothing: point TMPDIR at a disk"
        )
    free_gb = shutil.disk_usage(directory).free / 1e9
    if free_gb < NEEDED_GB:
        raise DiskError(
            f"{directory} has {free_gb:.1f} GB free, and the benchmark needs {NEEDED_GB} GB:"
            " make room, or point TMPDIR at a disk that has it"
        )


def file_system(directory: Path) -> str:
    """The kind of file system that it is on, as the kernel calls it."""
    device = directory.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split()[2] == number:
            return source.split()[0]
    return "unknown"


def allow_files() -> None:
    """As many open files as may be, here and in the brokers: a shell's usual 1,024 are too few for
    1,000 connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def warm_memory(directory: Path, size: float) -> None:
    """Use as much memory as the page cache is about to need, and give it back.

    A virtual machine gets its memory from its host when it first touches it, and hands it back when
    it is free for a while. Whoever writes first then pays 2 s of kernel time per GB for both.
    """
    path = directory / "warm"
    block = bytes(1 << 20)
    with path.open("wb") as file:
        for _ in range(0, int(size * 3 / 2), len(block)):
            file.write(block)
    path.unlink()


def drop_from_cache(paths: Iterable[Path]) -> None:
    """Make the next read of these files come from the disk; needs no root, and moves no others."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def versions() -> Mapping[str, str]:
    memory_gb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return {
        "confluent-kafka": version("confluent-kafka"),
        "librdkafka": confluent_kafka.libversion()[0],
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "memory": f"{memory_gb:.0f} GB",
    }
