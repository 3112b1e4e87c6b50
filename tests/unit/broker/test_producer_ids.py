"""Who is forgotten: who has been silent for too long, and who is silent longest in a crowd."""

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
        self.looks = 0

    def forget_producer(self, producer_id: int) -> bool:
        self.looks += 1
        if producer_id in self.open:
            return False
        self.forgotten.append(producer_id)
        return True


def new_ids(clock: Clock, most: int = 1_000) -> ProducerIds:
    return ProducerIds(Config({"max.producer.ids": str(most)}), clock)


def expire(ids: ProducerIds, silent_ms: int) -> None:
    for _ in ids.expire(silent_ms):
        pass


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
        expire(ids, silent_ms=97)
        assert a.looks == max(producer_id - 97, 0)
    assert a.forgotten == [0, 1]


def test_who_has_to_be_remembered_begins_anew() -> None:
    clock, a = Clock(), Partition()
    ids = new_ids(clock)
    a.open = {7}
    ids.heard(a, 7)
    expire(ids, silent_ms=5)
    clock.ms = 100
    expire(ids, silent_ms=5)
    assert a.looks == 1
    a.open = set()
    for clock.ms in (104, 109, 114):
        expire(ids, silent_ms=5)
        assert a.forgotten == []
    clock.ms = 115
    expire(ids, silent_ms=5)
    assert a.forgotten == [7]


def test_what_several_partitions_restore_is_forgotten_by_age() -> None:
    clock, a, b = Clock(), Partition(), Partition()
    ids = new_ids(clock)
    ids.found(a, [(1, -50)])
    ids.found(a, [(2, 70)])
    ids.found(b, [(3, 90)])
    expire(ids, silent_ms=80)
    assert (a.forgotten, b.forgotten) == ([], [3])
    expire(ids, silent_ms=0)
    assert (a.forgotten, b.forgotten) == ([2], [3])


def test_what_this_process_has_heard_counts_for_more_than_a_snapshot() -> None:
    ids, a = new_ids(Clock()), Partition()
    ids.heard(a, 7)
    ids.found(a, [(7, 1_000)])
    expire(ids, silent_ms=10)
    assert a.forgotten == []


def test_who_was_restored_later_is_forgotten_before_whom_this_process_has_heard() -> None:
    ids, a = new_ids(Clock(), most=2), Partition()
    ids.heard(a, 7)
    ids.found(a, [(8, 0), (9, 1_000)])
    ids.heard(a, 10)
    assert a.forgotten == [9, 8]


def test_beyond_the_limit_the_longest_silent_of_the_largest_partition_is_forgotten() -> None:
    a, b = Partition(), Partition()
    ids = new_ids(Clock(), most=3)
    ids.heard(b, 1)
    ids.heard(a, 1)
    ids.heard(a, 2)
    ids.heard(a, 1)
    ids.heard(a, 3)
    assert (a.forgotten, b.forgotten) == ([2], [])
    ids.heard(b, 4)
    assert len(ids) == 3


def test_of_partitions_of_one_size_the_longest_silent_pays() -> None:
    a, b, c, d = (Partition() for _ in range(4))
    ids = new_ids(Clock(), most=3)
    for partition in (a, b, c, a, d):
        ids.heard(partition, 7)
    assert [p.forgotten for p in (a, b, c, d)] == [[], [7], [], []]


def test_a_partition_that_leaves_the_crowd_is_not_the_largest_any_more() -> None:
    a, b = Partition(), Partition()
    ids = new_ids(Clock(), most=5)
    for producer_id in range(4):
        ids.heard(a, producer_id)
    ids.heard(b, 1)
    ids.leave(a, {0, 1, 2, 3})
    for producer_id in range(2, 7):
        ids.heard(b, producer_id)
    assert (a.forgotten, b.forgotten) == ([], [1])
    ids.leave(b, {2, 3, 4, 5, 6})
    assert not len(ids)
    assert not ids._heard
    assert not ids._crowds.by_size


def test_beyond_the_limit_whose_transaction_is_open_is_remembered() -> None:
    a = Partition()
    ids = new_ids(Clock(), most=2)
    a.open = {1, 2}
    for producer_id in (1, 2, 3, 4):
        ids.heard(a, producer_id)
    assert a.forgotten == []
    for producer_id in (5, 6):
        ids.heard(a, producer_id)
    assert a.forgotten == [3, 4]
    a.open = {1}
    ids.heard(a, 2)
    assert a.forgotten == [3, 4, 5]
    ids.heard(a, 7)
    ids.heard(a, 8)
    assert a.forgotten == [3, 4, 5, 6, 2]


def test_open_transactions_take_nothing_from_other_producers() -> None:
    """Though there are more of them than may be remembered."""
    a, b = Partition(), Partition()
    ids = new_ids(Clock(), most=20)
    for producer_id in range(5):
        ids.heard(b, producer_id)
    a.open = set(range(100))
    for producer_id in range(100):
        ids.heard(a, producer_id)
    for producer_id in range(5, 10):
        ids.heard(b, producer_id)
    assert (a.forgotten, b.forgotten, len(ids)) == ([], [], 110)


def test_who_is_at_work_is_remembered_where_many_are_though_others_are_silent_elsewhere() -> None:
    """A hot partition has more ids than any other, and those of the others retry nothing."""
    clock, hot = Clock(), Partition()
    others = [Partition() for _ in range(10)]
    ids = new_ids(clock, most=100)
    for partition in others:
        for producer_id in range(9):
            ids.heard(partition, producer_id)
    expire(ids, silent_ms=1_000_000)
    for minute in range(1, 6):
        clock.ms = minute * 60_000
        for producer_id in range(10):
            ids.heard(hot, producer_id)
        expire(ids, silent_ms=1_000_000)
    for _ in range(3):
        for producer_id in range(30):
            ids.heard(hot, producer_id)
    assert hot.forgotten == []
    assert len(ids) < 100


def test_while_there_are_few_nobody_is_forgotten_before_its_time() -> None:
    clock, a = Clock(), Partition()
    ids = new_ids(clock, most=100)
    for producer_id in range(75):
        ids.heard(a, producer_id)
    for minute in range(1, 10):
        clock.ms = minute * 60_000
        expire(ids, silent_ms=1_000_000)
    assert a.forgotten == []


def test_who_is_set_aside_is_counted_once_when_it_is_restored() -> None:
    a = Partition()
    ids = new_ids(Clock(), most=1)
    a.open = {1, 2}
    for producer_id in (1, 2):
        ids.heard(a, producer_id)
    ids.found(a, [(1, 10), (2, 10)])
    assert len(ids) == 2
    ids.leave(a, {1, 2})
    assert len(ids) == 0


def test_a_crowd_of_open_transactions_does_not_hide_those_who_can_be_forgotten() -> None:
    a, b = Partition(), Partition()
    ids = new_ids(Clock(), most=20)
    a.open = set(range(15))
    for producer_id in range(15):
        ids.heard(a, producer_id)
    for producer_id in range(100):
        ids.heard(b, producer_id)
        for known in range(15):
            ids.heard(a, known)
        assert len(ids) <= 20 + 15
    assert b.forgotten == list(range(len(b.forgotten)))
    assert len(b.forgotten) >= 80


def test_a_new_id_among_many_open_transactions_looks_at_few() -> None:
    a = Partition()
    ids = new_ids(Clock(), most=50)
    a.open = set(range(100))
    for producer_id in range(100):
        ids.heard(a, producer_id)
    assert len(ids) == 100
    a.looks = 0
    expire(ids, silent_ms=5)
    assert a.looks == 50
    a.open = set()
    for producer_id in range(100):
        ids.heard(a, producer_id)
        assert a.looks <= 100 + 8 * (producer_id + 1)
    expire(ids, silent_ms=5)
    assert len(ids) == 50


def test_a_partition_that_goes_while_others_are_forgotten_takes_its_own_with_it() -> None:
    clock, a, b = Clock(), Partition(), Partition()
    ids = new_ids(clock)
    ids.found(a, [(1, 10)])
    ids.found(b, [(2, 10)])
    expiring = ids.expire(silent_ms=5)
    while not a.forgotten:
        next(expiring)
    ids.leave(b, {2})
    assert list(expiring)
    assert (a.forgotten, b.forgotten, len(ids)) == ([1], [], 0)
