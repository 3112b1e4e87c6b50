"""The checkpoint files of a data directory: an offset for each partition, written whole each time.

What is in memory is what the file said when a write last succeeded. A write that failed may have
reached the disk all the same, from then on or only after a power cut: until the next one succeeds,
nobody knows what the file says of a partition, even of one that memory does not have.
Above: directory.py. Below: properties.py, files.py.
"""

import errno
from collections.abc import Collection, Mapping

from kafkaesque.log.files import Files, read_whole, write_atomically
from kafkaesque.log.properties import format_offsets, parse_offsets
from kafkaesque.types import TopicPartition


class OffsetCheckpoint:
    def __init__(self, files: Files, path: str) -> None:
        data = read_whole(files, path)
        offsets = parse_offsets(data) if data is not None else {}
        self.is_damaged = offsets is None
        self.offsets = offsets or {}
        self._files = files
        self._path = path
        self._is_sure = True
        self._is_being_written = False

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """All of them. Durable when it returns."""
        if self._is_being_written:
            # Whichever ended last would win, and it could be the older one.
            raise OSError(errno.EBUSY, "is being written by another thread", self._path)
        self._is_being_written = True
        try:
            write_atomically(self._files, self._path, format_offsets(offsets))
            self.offsets = dict(offsets)
            self._is_sure = True
        except OSError:
            self._is_sure = False
            raise
        finally:
            self._is_being_written = False

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Durable when it returns; if it raises, it is to be called again."""
        if not self._is_sure or not self.offsets.keys().isdisjoint(partitions):
            self.write({p: o for p, o in self.offsets.items() if p not in partitions})
