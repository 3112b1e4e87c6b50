"""Promises taken away, one at a time: a few seeds are enough to find each.

These are no cures of defects that the broker once had (cures/): no broker would be shipped so. They
show that the model asks for what is promised at all.
"""

import re

import pytest
from tests.simulation.cures.cure import Change, Cure, without
from tests.simulation.draw import draw
from tests.simulation.world import World

from kafkaesque.broker import partition, producers
from kafkaesque.broker.partition import LEADER_EPOCH, Partition
from kafkaesque.broker.partition_transactions import PartitionTransactions
from kafkaesque.broker.producers import Producers
from kafkaesque.groups.events import StoredMember
from kafkaesque.groups.member import Member
from kafkaesque.groups.replay import Replay
from kafkaesque.log.log import Log
from kafkaesque.log.producer_state import BATCH, Appended, last_batch
from kafkaesque.records.batch import BatchHeader, read_header, stamp

_SEEDS = range(1, 151)
"""The first that finds it ends the search."""


def _groups_forgotten() -> list[Change]:
    def take_group(self: Replay, key: bytes, value: bytes | None) -> None:
        pass

    return [Change(Replay, "_take_group", take_group)]


def _sessions_cut_short_by_a_start() -> list[Change]:
    restored = Member.restored

    def soon(stored: StoredMember, protocol_name: str, now_ms: int) -> Member:
        member = restored(stored, protocol_name, now_ms)
        member.expires_at_ms = now_ms + 100
        return member

    return [Change(Member, "restored", staticmethod(soon))]


def _heartbeats_not_counted() -> list[Change]:
    return [Change(Member, "renew", lambda self, now_ms: None)]


def _appended_twice_where_writes_are_cached() -> list[Change]:
    append = Partition.append

    def twice(self: Partition, batch: memoryview, header: BatchHeader | None = None) -> BatchHeader:
        end = self.log.end_offset
        appended = append(self, batch, header)
        if self.config.write_caching and appended.base_offset == end:
            again = bytearray(batch)
            stamp(again, 0, self.log.end_offset, LEADER_EPOCH)
            self.log.append(memoryview(again), read_header(again), self._clock())
            self._appended()
        return appended

    return [Change(Partition, "append", twice)]


def _every_batch_taken_for_new() -> list[Change]:
    def check(self: Producers, header: BatchHeader) -> Appended | None:
        return None

    return [Change(Producers, "check", check)]


def _producers_forgotten_by_a_start() -> list[Change]:
    restore = partition._restore

    def without_producers(log: Log, now_ms: int) -> tuple[Producers, PartitionTransactions]:
        return Producers(), restore(log, now_ms)[1]

    return [Change(partition, "_restore", without_producers)]


def _one_batch_of_each_producer_known() -> list[Change]:
    def newest(producer: bytes) -> list[Appended]:
        batch = last_batch(producer)
        return [batch] if batch else []

    return [Change(producers, "appended_batches", newest)]


def _four_batches_of_each_producer_known() -> list[Change]:
    return [Change(producers, "_OLDER_SIZE", 3 * BATCH.size)]


MUTANTS = (
    Cure("groups-forgotten", r"is not in group \S+, which is Dead", _groups_forgotten),
    Cure(
        "sessions-cut-short-by-a-start",
        r"is not in group|is told UNKNOWN_MEMBER_ID",
        _sessions_cut_short_by_a_start,
    ),
    Cure(
        "heartbeats-not-counted",
        r"is told UNKNOWN_MEMBER_ID|nobody has been heard of",
        _heartbeats_not_counted,
    ),
    Cure("cached-twice", r"is there twice", _appended_twice_where_writes_are_cached),
    Cure("every-batch-new", r"again: .* and now at", _every_batch_taken_for_new),
    Cure(
        "producers-forgotten-by-a-start", r"again: .* and now at", _producers_forgotten_by_a_start
    ),
    Cure(
        "one-batch-known",
        r"again: OUT_OF_ORDER_SEQUENCE_NUMBER",
        _one_batch_of_each_producer_known,
    ),
    Cure(
        "four-batches-known",
        r"again: OUT_OF_ORDER_SEQUENCE_NUMBER",
        _four_batches_of_each_producer_known,
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_a_promise_that_is_not_kept_is_found(mutant: Cure) -> None:
    with without(mutant):
        failures = (World(draw(seed)).run() or "" for seed in _SEEDS)
        assert any(re.search(mutant.shows, failure) for failure in failures)
