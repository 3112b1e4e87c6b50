"""Whatever partitions hear, restore and drop: who is forgotten is who a plain model names, which
looks at all ids each time.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.broker.config import Config
from kafkaesque.broker.producer_ids import ProducerIds

LOOKED_AT = 8
RETRIED_MS = 180_000
PARTITIONS = 4
PRODUCERS = 12


class Clock:
    ms = 0

    def __call__(self) -> int:
        return self.ms


@dataclass(eq=False)
class Partition:
    """Remembers as the broker's does, and asks the model whether it is right to forget."""

    model: "Model"
    producers: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)

    def forget_producer(self, producer_id: int) -> bool:
        self.model.looks_at(self, producer_id)
        if producer_id in self.open:
            return False
        self.producers.remove(producer_id)
        return True


Key = tuple[Partition, int]


class Model:
    """Those who can be forgotten, by when they were heard of: the end of that period, and what came
    first in it.
    """

    def __init__(self) -> None:
        self.heard: dict[Key, tuple[float, int]] = {}
        self.aside: list[Key] = []
        self.before_ms = -inf
        """Who was heard of before is silent for too long."""
        self.retried_from_ms = -inf
        """Who was heard of before retries nothing."""
        self.most = 1
        self.looks = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self.heard) + len(self.aside)

    @property
    def has_room(self) -> bool:
        """Not for those who are set aside: they cannot be forgotten."""
        return len(self.heard) <= self.most

    @property
    def are_many(self) -> bool:
        return len(self.heard) > self.most * 0.75

    def hear(self, key: Key, ended_ms: float = inf) -> None:
        self._number += 1
        self.heard[key] = (ended_ms, self._number)
        if key in self.aside:
            self.aside.remove(key)

    def end_period(self, now_ms: int) -> None:
        ended = {key: (now_ms, number) for key, (ms, number) in self.heard.items() if ms == inf}
        self.heard.update(ended)
        for key in list(self.aside):
            self.hear(key)

    def drop(self, key: Key) -> None:
        self.heard.pop(key, None)
        if key in self.aside:
            self.aside.remove(key)

    def looks_at(self, partition: Partition, producer_id: int) -> None:
        self.looks += 1
        key = (partition, producer_id)
        longest_silent = min(self._of(partition), key=self.heard.__getitem__)
        assert key == longest_silent
        ended_ms, _ = self.heard[key]
        is_silent = ended_ms < self.retried_from_ms and self.are_many
        if ended_ms >= self.before_ms and not is_silent:
            assert len(self.heard) > self.most
            sizes = Counter(each for each, _ in self.heard).values()
            assert len(self._of(partition)) == max(sizes)
        del self.heard[key]
        if producer_id in partition.open:
            self.aside.append(key)

    def _of(self, partition: Partition) -> list[Key]:
        return [key for key in self.heard if key[0] is partition]


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.config = Config({"max.producer.ids": "1"})
        self.ids = ProducerIds(self.config, self.clock)
        self.model = Model()
        self.partitions = [Partition(self.model) for _ in range(PARTITIONS)]

    def hears(self, partition: Partition, producer_id: int, number: int) -> None:
        partition.producers.add(producer_id)
        is_new = (partition, producer_id) not in self.model.heard
        self.model.hear((partition, producer_id))
        self.model.looks = 0
        self.ids.heard(partition, producer_id)
        assert self.model.looks <= LOOKED_AT * is_new
        if is_new and self.model.looks < LOOKED_AT:
            assert self.model.has_room

    def opens(self, partition: Partition, producer_id: int, number: int) -> None:
        partition.open.add(producer_id)
        self.hears(partition, producer_id, number)

    def ends(self, partition: Partition, producer_id: int, number: int) -> None:
        partition.open.discard(producer_id)
        self.hears(partition, producer_id, number)

    def finds(self, partition: Partition, producer_id: int, number: int) -> None:
        """What a snapshot has: everybody who is known, and some who are not."""
        more = range(producer_id, min(producer_id + number, PRODUCERS))
        ages = {
            each: ((each * 7 + number) % 40 - 5) * 10_000 for each in {*partition.producers, *more}
        }
        for each, ago_ms in ages.items():
            if each not in partition.producers:
                self.model.hear((partition, each), self.clock.ms - max(ago_ms, 0))
        partition.producers |= ages.keys()
        self.ids.found(partition, ages.items())

    def leaves(self, partition: Partition, producer_id: int, number: int) -> None:
        gone = {each for each in partition.producers if each >= producer_id}
        for each in gone:
            self.model.drop((partition, each))
        partition.producers -= gone
        partition.open -= gone
        self.ids.leave(partition, gone)

    def expires(self, partition: Partition, producer_id: int, number: int) -> None:
        # Not by 0: of who was restored and who was heard of now, neither would be silent longer.
        self.clock.ms += 1 + number * 10_000
        self.model.end_period(self.clock.ms)
        self.model.before_ms = self.clock.ms - producer_id * 10_000
        self.model.retried_from_ms = self.clock.ms - RETRIED_MS
        for _ in self.ids.expire(producer_id * 10_000):
            pass
        least_ms = self.model.before_ms
        if self.model.are_many:
            least_ms = max(least_ms, self.model.retried_from_ms)
        assert all(ms >= least_ms for ms, _ in self.model.heard.values())
        assert self.model.has_room
        self.model.before_ms = self.model.retried_from_ms = -inf

    def limits(self, partition: Partition, producer_id: int, number: int) -> None:
        self.model.most = number + 1
        self.config.dynamic["max.producer.ids"] = str(number + 1)
        self.config.refresh()

    def check(self) -> None:
        remembered = {(p, each) for p in self.partitions for each in p.producers}
        assert {*self.model.heard, *self.model.aside} == remembered
        assert len(self.ids) == len(remembered)

    def check_empty(self) -> None:
        for partition in self.partitions:
            self.leaves(partition, 0, 0)
        assert not self.ids._heard
        assert not self.ids._aside
        assert not self.ids._crowds.by_size


Action = Callable[[World, Partition, int, int], None]
ACTIONS: list[Action] = [
    *[World.hears] * 3,
    *[World.opens] * 2,
    World.ends,
    World.finds,
    World.leaves,
    World.expires,
    World.limits,
]
STEPS = st.tuples(
    st.sampled_from(ACTIONS),
    st.integers(0, PARTITIONS - 1),
    st.integers(0, PRODUCERS - 1),
    st.integers(0, 10),
)


@given(st.lists(STEPS, min_size=20, max_size=80))
def test_who_is_forgotten_is_who_retries_nothing_or_is_of_the_largest_partition(
    steps: list[tuple[Action, int, int, int]],
) -> None:
    world = World()
    for action, partition, producer_id, number in steps:
        action(world, world.partitions[partition], producer_id, number)
        world.check()
    world.check_empty()
