"""Who is forgotten first: producers by how long they have been silent, over all partitions."""

from kafkaesque.broker.config import Config
from kafkaesque.broker.producer_ids import ProducerIds


class Clock:
    ms = 0

    def __call__(self) -> int:
        return self.ms


class Partition:
    """Notes whom it has to forget."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.forgotten: list[int] = []

    def forget_producer(self, producer_id: int) -> bool:
        if producer_id in self.open:
            return False
        self.forgotten.append(producer_id)
        return True


def new_ids(clock: Clock, most: int = 1_000) -> ProducerIds:
    return ProducerIds(Config({"max.producer.ids": str(most)}), clock)


def expire(ids: ProducerIds, silent_ms: int) -> int:
    return len(list(ids.expire(silent_ms)))


def test_who_is_silent_is_forgotten_in_its_partition_alone() -> None:
    clock, a, b = Clock(), Partition(), Partition()
    ids = new_ids(clock)
    for partition in (a, b):
        ids.heard(partition, 7)
    expire(ids, silent_ms=5)
    clock.ms = 6
    ids.heard(b, 7)
    ids.heard(b, 8)
    expire(ids, silent_ms=5)
    assert (a.forgotten, b.forgotten) == ([7], [])
    assert len(ids) == 2


def test_nobody_is_forgotten_too_early() -> None:
    clock, a = Clock(), Partition()
    ids = new_ids(clock)
    clock.ms = 99
    ids.heard(a, 7)
    for clock.ms in (100, 105):
        expire(ids, silent_ms=5)
        assert a.forgotten == []
    clock.ms = 106
    expire(ids, silent_ms=5)
    assert a.forgotten == [7]


def test_only_those_who_go_are_looked_at() -> None:
    clock, a = Clock(), Partition()
    ids = new_ids(clock)
    for producer_id in range(100):
        clock.ms = producer_id
        ids.heard(a, producer_id)
        assert expire(ids, silent_ms=97) == (producer_id == 98) + (producer_id == 99)
    assert a.forgotten == [0, 1]


def test_who_has_to_be_remembered_begins_anew() -> None:
    clock, a = Clock(), Partition()
    ids = new_ids(clock)
    a.open = {7}
    ids.heard(a, 7)
    expire(ids, silent_ms=5)
    clock.ms = 100
    assert expire(ids, silent_ms=5) == 1
    a.open = set()
    for clock.ms in (104, 109):
        expire(ids, silent_ms=5)
        assert a.forgotten == []
    clock.ms = 110
    expire(ids, silent_ms=5)
    assert a.forgotten == [7]


def test_what_several_partitions_restore_is_forgotten_by_age() -> None:
    clock, a, b = Clock(), Partition(), Partition()
    ids = new_ids(clock)
    ids.found(a, [(1, -50)])
    ids.found(a, [(2, 70)])
    ids.found(b, [(3, 90)])
    ids.sort()
    assert expire(ids, silent_ms=80) == 1
    assert b.forgotten == [3]
    assert expire(ids, silent_ms=0) == 1
    assert a.forgotten == [2]


def test_what_this_process_has_heard_counts_for_more_than_a_snapshot() -> None:
    ids, a = new_ids(Clock()), Partition()
    ids.heard(a, 7)
    ids.found(a, [(7, 1_000)])
    assert expire(ids, silent_ms=10) == 0


def test_beyond_the_limit_the_longest_silent_of_all_partitions_is_forgotten() -> None:
    a, b = Partition(), Partition()
    ids = new_ids(Clock(), most=3)
    ids.heard(a, 1)
    ids.heard(b, 1)
    ids.heard(a, 2)
    ids.heard(a, 1)
    ids.heard(a, 3)
    assert (a.forgotten, b.forgotten) == ([], [1])
    ids.heard(b, 4)
    assert (a.forgotten, b.forgotten) == ([2], [1])
    assert len(ids) == 3


def test_beyond_the_limit_whose_transaction_is_open_is_remembered() -> None:
    a = Partition()
    ids = new_ids(Clock(), most=2)
    a.open = {1, 2}
    for producer_id in (1, 2, 3, 4):
        ids.heard(a, producer_id)
    assert a.forgotten == [3, 4]
    a.open = {1}
    ids.heard(a, 5)
    assert a.forgotten == [3, 4, 2]


def test_a_new_id_among_many_open_transactions_looks_at_few() -> None:
    a = Partition()
    ids = new_ids(Clock(), most=50)
    a.open = set(range(100))
    for producer_id in range(100):
        ids.heard(a, producer_id)
    assert len(ids) == 100
    assert expire(ids, silent_ms=5) == 100
    a.open = set()
    ids.heard(a, 100)
    assert len(a.forgotten) == 8
    expire(ids, silent_ms=5)
    assert len(ids) == 50


def test_a_partition_that_goes_while_others_are_forgotten_takes_its_own_with_it() -> None:
    clock, a, b = Clock(), Partition(), Partition()
    ids = new_ids(clock)
    ids.found(a, [(1, 10)])
    ids.found(b, [(2, 10)])
    expiring = ids.expire(silent_ms=5)
    next(expiring)
    ids.leave(b, {2})
    assert list(expiring) == []
    assert (a.forgotten, b.forgotten, len(ids)) == ([1], [], 0)
