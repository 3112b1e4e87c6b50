"""Producer snapshots: what the broker knew of a partition's producers at an offset.

    <offset, 20 digits>.producers    CRC-32 of the rest u32 | bytes that only the broker understands

A shortcut, never a truth: one that is torn, damaged or beyond the log's end is ignored, and the
broker reads the log's headers from the snapshot before it, or from the start. The last two are
kept.
Above: disk.py. Below: files.py, names.py.
"""

import zlib
from collections.abc import Iterable

from kafkaesque.log.files import Files, read_whole, write_atomically
from kafkaesque.log.names import SNAPSHOT, stem

_KEPT = 2


class Snapshots:
    def __init__(self, files: Files, directory: str, names: Iterable[str]) -> None:
        self._files = files
        self._directory = directory
        self._offsets = sorted(int(digits) for name in names if (digits := stem(name, SNAPSHOT)))

    def write(self, offset: int, data: bytes) -> None:
        """Durable when it returns. For a thread."""
        content = zlib.crc32(data).to_bytes(4, "big") + data
        # Before it is written: one that fails may be there all the same, and must go with its log.
        self._offsets = sorted({*self._offsets, offset})
        write_atomically(self._files, self._path(offset), content)
        for old in self._offsets[:-_KEPT]:
            self._remove(old)

    def latest(self, max_offset: int) -> tuple[int, bytes] | None:
        """The last one that can be read, of a log that ends at `max_offset`."""
        for offset in reversed(self._offsets):
            if offset <= max_offset:
                content = read_whole(self._files, self._path(offset)) or b""
                if content[:4] == zlib.crc32(content[4:]).to_bytes(4, "big"):
                    return offset, content[4:]
        return None

    def remove_after(self, offset: int) -> None:
        """Left behind, they would come to lie within the log again."""
        for known in [known for known in self._offsets if known > offset]:
            self._remove(known)

    def _remove(self, offset: int) -> None:
        """It is known until it is gone."""
        try:
            self._files.remove(self._path(offset))
        except FileNotFoundError:
            pass
        self._offsets = [known for known in self._offsets if known != offset]

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}{SNAPSHOT}"
