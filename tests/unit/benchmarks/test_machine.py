"""A machine whose scratch directory is in memory, or too small, is refused before anything runs."""

from collections import namedtuple
from pathlib import Path

import pytest
from benchmarks import machine

Usage = namedtuple("Usage", "free")


def test_a_file_system_is_called_what_the_kernel_calls_it() -> None:
    assert machine.file_system(Path("/proc")) == "proc"


def test_a_directory_in_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "file_system", lambda _: "tmpfs")
    with pytest.raises(machine.DiskError, match=r"is in memory.* point TMPDIR at a disk"):
        machine.require_disk(tmp_path)


@pytest.mark.parametrize(("free_gb", "is_enough"), [(14.9, False), (15.1, True)])
def test_a_full_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_gb: float, is_enough: bool
) -> None:
    monkeypatch.setattr(machine, "file_system", lambda _: "ext4")
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(free_gb * 1e9))
    if is_enough:
        machine.require_disk(tmp_path)
    else:
        with pytest.raises(machine.DiskError, match="needs 15 GB"):
            machine.require_disk(tmp_path)


def test_warming_memory_leaves_no_file(tmp_path: Path) -> None:
    machine.warm_memory(tmp_path, 1e6)
    assert list(tmp_path.iterdir()) == []
