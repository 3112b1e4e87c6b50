"""Groups and offsets out of the log: what a start reads, batch by batch.

In the log's order, the last word on each key counts; but an offset that was committed in a
transaction counts only if the transaction was, and then from where its *record* stands. The offsets
of plain batches, nearly all there is in most logs, are filed without being looked at.

Above: the broker's coordinator. Below: table.py, records.py; records/entries.py reads batches.
"""

from kafkaesque.groups.events import StoredGroup
from kafkaesque.groups.group import Group
from kafkaesque.groups.records import decode_group, decode_offset, decode_place
from kafkaesque.groups.table import GroupTable
from kafkaesque.records.control import Marker, read_marker
from kafkaesque.records.entries import Run, Shelf, entries, gather
from kafkaesque.types import Moment, TopicPartition

_NUMBER_SIZE = 4
"""An offset's key ends with the number of the partition."""


class Replay:
    """Fills a table that is empty."""

    def __init__(self, table: GroupTable) -> None:
        self._table = table
        self._offsets = table.offsets
        self._groups: dict[str, StoredGroup] = {}
        self._shelves: dict[bytes, Shelf] = {}

    def take(self, data: bytes, run: Run) -> None:
        """Take in one run of batches."""
        header = run.header
        if header.is_control:
            if marker := read_marker(data, run.position):
                commit = marker is Marker.COMMIT
                self._offsets.end_transaction(header.producer_id, header.base_offset, commit=commit)
                self._shelves.clear()  # One that this has emptied is not the table's any more.
        elif run.is_plain and self._offsets.are_decided:
            gather(data, run, self._shelves, self._shelf_for)
        else:
            self._stage(data, run)

    def finish(self, now: Moment) -> None:
        """The log is read: sessions start now. Offsets alone make a group too."""
        table = self._table
        self._offsets.prune()
        for group_id, stored in self._groups.items():
            table.put(
                Group.restore(group_id, table.config, stored, now, table.new_id, table.budget)
            )
        for group_id in self._offsets.group_ids():
            if group_id not in table.groups:
                table.create(group_id, now.wall_ms)

    def _shelf_for(self, key: bytes, value: bytes | None) -> Shelf:
        """Where the offsets go that are of the same group and topic. What is no offset is dealt
        with here, and filed nowhere.
        """
        place = decode_place(key)
        if place is None:
            self._take_group(key, value)
            return {}
        if value is not None:
            decode_offset(value)  # One of many: what a newer Kafka has written is refused here.
        group_id, (topic, _) = place
        shelf = self._offsets.partitions_of(group_id, topic)
        self._shelves[key[:-_NUMBER_SIZE]] = shelf
        return shelf

    def _stage(self, data: bytes, run: Run) -> None:
        """In a transaction, or beside one: who wins depends on where in the log a record stands."""
        writes: dict[str, dict[TopicPartition, bytes | None]] = {}
        for key, value in entries(data, run):
            place = decode_place(key)
            if place is None:
                self._take_group(key, value)
            else:
                group_id, partition = place
                writes.setdefault(group_id, {})[partition] = value
        header = run.header
        producer_id = header.producer_id if header.is_transactional else None
        for group_id, offsets in writes.items():
            staged = self._offsets.stage(group_id, offsets, header.base_offset, producer_id)
            if producer_id is None:
                self._offsets.commit(staged)
        self._shelves.clear()

    def _take_group(self, key: bytes, value: bytes | None) -> None:
        record = decode_group(key, value)
        if record is None:
            return
        if record.stored is None:
            self._groups.pop(record.group_id, None)
        else:
            self._groups[record.group_id] = record.stored
