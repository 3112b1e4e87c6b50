"""Which files a table needs, and the removal of those it does not.

A file is needed if a snapshot that is kept has it: its list of manifests, a manifest, or rows.
Files that no snapshot has were left by a task or a commit that was killed, or are being written at
this moment: they are removed only when they have not been touched for a while.
Above: expiry.py, maintenance.py. Below: pyiceberg.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

if TYPE_CHECKING:
    from pyiceberg.table import Table


@dataclass(frozen=True, slots=True)
class Orphan:
    path: str
    size_bytes: int


def needed(table: "Table") -> set[str]:
    """The paths of all files that the table cannot do without."""
    found = {table.metadata_location, *(each.metadata_file for each in table.metadata.metadata_log)}
    found |= {each.statistics_path for each in table.metadata.statistics}
    seen: set[str] = set()
    for snapshot in table.snapshots():
        found.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in seen:
                seen.add(manifest.manifest_path)
                entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
                found |= {entry.data_file.file_path for entry in entries}
    return found | seen


def orphans(table: "Table", before_ms: int) -> list[Orphan]:
    """Files in the table's place that nobody needs, last touched before that time."""
    kept = {_path(each) for each in needed(table)}
    scheme = table.location().partition("://")[0]
    return [
        Orphan(f"{scheme}://{info.path}", info.size)
        for info in _listed(table)
        if info.path not in kept and info.mtime_ns < before_ms * 1_000_000
    ]


def remove(table: "Table", paths: Iterable[str]) -> int:
    """How many of them could be removed; the others are tried again the next time."""
    count = 0
    for path in paths:
        try:
            table.io.delete(path)
            count += 1
        except OSError:
            continue
    return count


def _listed(table: "Table") -> Iterator[Any]:
    from pyarrow.fs import FileSelector, FileType
    from pyiceberg.io.pyarrow import PyArrowFileIO

    if not isinstance(table.io, PyArrowFileIO):
        return
    scheme, netloc, path = PyArrowFileIO.parse_location(table.location())
    place = FileSelector(path, recursive=True, allow_not_found=True)
    for info in table.io.fs_by_scheme(scheme, netloc).get_file_info(place):
        if info.type == FileType.File:
            yield info


def _path(address: str) -> str:
    """As the file system has it: of s3://bucket/key, bucket/key."""
    found = urlparse(address)
    return found.path if found.scheme == "file" else f"{found.netloc}{found.path}"
