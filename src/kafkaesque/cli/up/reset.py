"""Emptying a data directory: only one that is ours, and that no broker holds.

The directory itself stays, as it may be a mount or a link.
Above: command.py. Below: log/directory.py.
"""

import shutil
from pathlib import Path

from kafkaesque.cli.output import CommandError

_META = "meta.properties"
_LOCK = ".lock"


def delete_all(data_dir: Path) -> None:
    """Delete every topic and record. CommandError or StartError if it is not ours to delete."""
    from kafkaesque.log.directory import DataDirectory
    from kafkaesque.log.files import OsFiles

    if not _has_data(data_dir):
        return
    directory = DataDirectory.open(OsFiles(), str(data_dir))
    try:
        _empty(data_dir)
    finally:
        directory.close(clean=False)


def _has_data(data_dir: Path) -> bool:
    names = {path.name for path in data_dir.iterdir()} if data_dir.is_dir() else set()
    if names - {_LOCK} and _META not in names:
        raise CommandError(
            f"{data_dir} is not emptied, for it has no {_META} and so is no data directory of "
            "ours: name another with --data-dir"
        )
    return _META in names


def _empty(data_dir: Path) -> None:
    # meta.properties goes last: until then the directory is known as ours.
    for path in sorted(data_dir.iterdir(), key=lambda path: path.name == _META):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _LOCK:
            path.unlink()
