"""A cluster at one moment, and what two moments tell: rates.

Pure data. `Snapshot` is what one look saw; a value that nobody could tell is None. `History` keeps
the ends of the logs for a minute: rates are differences of end offsets over time, so that knowing
how fast a topic is costs no reading of it. `LagHistory` keeps the lags of groups as long.
Above: poller.py, pages/. Below: look.py fills it.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafkaesque.client.cluster import Cluster, health_of
from kafkaesque.client.groups import Group
from kafkaesque.client.transaction import Transaction, age_ms
from kafkaesque.types import TopicPartition

RATE_WINDOW_S = 5.0
HISTORY = 60


@dataclass(frozen=True, slots=True)
class Partition:
    number: int
    leader: int
    replicas: int = 1
    in_sync: int = 1
    start: int | None = None
    end: int | None = None
    size: int | None = None

    @property
    def events(self) -> int | None:
        return None if self.start is None or self.end is None else self.end - self.start


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    partitions: tuple[Partition, ...]

    @property
    def internal(self) -> bool:
        return self.name.startswith("__")

    @property
    def events(self) -> int | None:
        return total(partition.events for partition in self.partitions)

    @property
    def size(self) -> int | None:
        return total(partition.size for partition in self.partitions)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`at_s` is of a clock that only runs forward, `at_ms` the time of day.

    `transactions` are those that are open, the oldest first. If the cluster does not tell of them,
    `transactions_problem` says why.
    """

    at_s: float
    cluster: Cluster
    topics: Mapping[str, Topic]
    groups: Mapping[str, Group]
    at_ms: int = 0
    transactions: tuple[Transaction, ...] = ()
    transactions_problem: str | None = None

    @property
    def ends(self) -> dict[TopicPartition, int]:
        return {
            TopicPartition(topic.name, partition.number): partition.end
            for topic in self.topics.values()
            for partition in topic.partitions
            if partition.end is not None
        }

    @property
    def troubles(self) -> list[str]:
        """What keeps the cluster from being healthy; nothing if it is."""
        health = health_of(self.cluster)
        found = (
            (len(health.nodes_down), "broker", "away"),
            (len(health.leaderless), "partition", "without a leader"),
            (len(health.under_replicated), "partition", "with replicas out of sync"),
        )
        return [
            f"{count:,} {noun}{'s' if count > 1 else ''} {what}"
            for count, noun, what in found
            if count
        ]

    @property
    def oldest_ms(self) -> int | None:
        """The age of the transaction that is open for longest; None if none is."""
        return max((self.age_ms(each) or 0 for each in self.transactions), default=None)

    def age_ms(self, transaction: Transaction) -> int | None:
        return age_ms(transaction.started_ms, self.at_ms)

    def lags_on(self, topic: str) -> list[tuple[Group, int | None]]:
        """The groups that read a topic, and how far each is behind on it."""
        behind = [
            (group, [lag.lag for lag in group.lags if lag.topic == topic])
            for group in self.groups.values()
        ]
        return [(group, total(lags)) for group, lags in behind if lags]

    def lag_by_topic(self) -> dict[str, int]:
        """How far all groups together are behind; of a topic that none has read, nothing."""
        found: dict[str, int] = {}
        for group in self.groups.values():
            for lag in group.lags:
                if lag.lag is not None:
                    found[lag.topic] = found.get(lag.topic, 0) + lag.lag
        return found


def total(values: Iterable[int | None]) -> int | None:
    """The sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Step:
    """What was written between two looks."""

    at_s: float
    took_s: float
    written: Mapping[TopicPartition, int]


@dataclass(slots=True)
class History:
    """The last minute of looks, as steps."""

    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _before: tuple[float, dict[TopicPartition, int]] | None = None

    def add(self, at_s: float, ends: dict[TopicPartition, int]) -> None:
        if self._before is not None and at_s > self._before[0]:
            before_s, before = self._before
            self.steps.append(Step(at_s, at_s - before_s, written(before, ends)))
        self._before = at_s, ends

    def clear(self) -> None:
        """Forget all: the next look follows on none."""
        self.steps.clear()
        self._before = None

    def rates(self) -> dict[TopicPartition, float]:
        """Events per second of each partition over the last five seconds."""
        if not self.steps:
            return {}
        since_s = self.steps[-1].at_s - RATE_WINDOW_S
        recent = [step for step in self.steps if step.at_s > since_s]
        took_s = sum(step.took_s for step in recent)
        return {
            place: sum(step.written.get(place, 0) for step in recent) / took_s
            for place in recent[-1].written
        }

    def series(self, topics: Iterable[str]) -> dict[str, list[float]]:
        """Events per second of each topic, look by look, the oldest first."""
        found: dict[str, list[float]] = {topic: [0.0] * len(self.steps) for topic in topics}
        for index, step in enumerate(self.steps):
            for place, count in step.written.items():
                if count and place.topic in found:
                    found[place.topic][index] += count / step.took_s
        return found


@dataclass(slots=True)
class LagHistory:
    """The lag of each group, look by look."""

    looks: deque[dict[str, int]] = field(default_factory=lambda: deque(maxlen=HISTORY))

    def add(self, groups: Mapping[str, Group]) -> None:
        self.looks.append({name: group.lag for name, group in groups.items()})

    def clear(self) -> None:
        self.looks.clear()

    def series(self) -> dict[str, list[int]]:
        """Of those that are there now, the oldest look first; none before it was there."""
        if not self.looks:
            return {}
        return {
            name: [look[name] for look in self.looks if name in look] for name in self.looks[-1]
        }


def written(
    before: Mapping[TopicPartition, int], after: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Events written between two looks. A log that got shorter is another one of the same name."""
    return {place: max(0, end - before[place]) for place, end in after.items() if place in before}


def by_topic(rates: Mapping[TopicPartition, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for place, rate in rates.items():
        found[place.topic] = found.get(place.topic, 0.0) + rate
    return found
