"""Real disks that are really full: a tmpfs of four megabytes."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(path: Path, *options: str) -> Iterator[Path]:
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", ",".join(["size=4m", *options]), "tmpfs", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"NOT TESTED, for no small disk can be had: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


@contextmanager
def no_room_left(disk: Path) -> Iterator[None]:
    """Fill a disk to its last byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue
    yield
    filler.unlink()
