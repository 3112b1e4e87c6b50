"""One topic in this worker: who is subscribed, which partitions are read, and how far.

A *feed* is a partition that is read at its head, for everybody at once. Whatever a feed brings is
shown to all subscriptions that are live there. Only partitions that can hold a match need one: all
of them for a subscription without keys, else those where the topic's producers put its keys
(placement.py), its *homes*. That is believed of records to come, and never of older ones: who
begins in the past reads all partitions until it has caught up.

`Subscription.start` remembers, for partitions that a subscription does not read, from where on it
would have to. So when a record turns up where its key should not be, nothing has been lost: from
then on the subscription wants all partitions, and lags in those it had left out.

The methods do what can be done at once, and hub.py what takes a question to the cluster.
Above: hub.py, catch_up.py. Below: interests.py, placement.py, subscription.py.
"""

from collections import Counter
from collections.abc import Mapping

from kafkaesque.client.filters import Documents
from kafkaesque.gateway.fanout.interests import Interests
from kafkaesque.gateway.fanout.placement import Placement
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import Wants

_MANY_KEYS = 500
_MANY_KEYS_PER_PARTITION = 10


class Feed:
    """A partition that is read at its head; `next` is the next offset to show."""

    __slots__ = ("high_watermark", "next")

    def __init__(self, offset: int) -> None:
        self.next = offset
        self.high_watermark = offset

    @property
    def lag(self) -> int:
        return max(0, self.high_watermark - self.next)


class Stream:
    def __init__(self, topic: str, partitions: int, decoder: Documents | None = None) -> None:
        self.topic = topic
        self.partitions = partitions
        self.interests = Interests(topic, decoder)
        self._has_decoder = decoder is not None
        self.subscriptions: dict[Subscription, None] = {}
        self.feeds: dict[int, Feed] = {}
        self.placement = Placement(partitions)
        self.heads: Mapping[int, int] = {}
        """Where all partitions ended a moment ago: one object for many subscriptions."""
        self.heads_at = float("-inf")
        self.learns = False
        """Whether it matters where keys are put."""
        self._wide = 0
        self._home_counts: Counter[int] = Counter()
        self.lagging: dict[int, dict[Subscription, None]] = {}
        """By partition: those who read what was before."""
        self._keyed = 0
        self.reading_values = 0
        """Subscriptions for whom it matters what values say by their schemas, if there are any."""
        self.reading_keys = 0

    def wanted(self) -> set[int]:
        """The partitions that have to be read."""
        if self._wide:
            return set(range(self.partitions))
        return self._home_counts.keys() | self.lagging.keys()

    def missing(self) -> set[int]:
        return self.wanted() - self.feeds.keys()

    def homes_of(self, wants: Wants) -> frozenset[int] | None:
        """The partitions that records to come will be in; None: any."""
        if wants.keys is None:
            return None
        homes = {self.placement.partition_of(key) for key in wants.keys}
        known = frozenset(home for home in homes if home is not None)
        return known if len(known) == len(homes) else None

    def add(
        self, subscription: Subscription, start: Mapping[int, int], given: Mapping[int, int]
    ) -> None:
        """At the head, but where it is `given` another offset: there it lags, or is ahead.

        `start` has every partition, and may be shared.
        """
        subscription.start = {**start, **given} if given else start
        self.subscriptions[subscription] = None
        self.interests.add(subscription)
        self._count_keyed(subscription.wants.keys is not None)
        self._count_reading(subscription, 1)
        self._settle(subscription)
        for partition, offset in given.items():
            if offset != self.feeds[partition].next:
                self.fall_behind(subscription, partition, offset)

    def remove(self, subscription: Subscription) -> None:
        del self.subscriptions[subscription]
        self.interests.remove(subscription)
        self._count_keyed(-(subscription.wants.keys is not None))
        self._count_reading(subscription, -1)
        self._unsettle(subscription)
        for partition in list(subscription.lag or ()):
            self.catch_up(subscription, partition)

    def begin(self, partition: int, offset: int) -> None:
        """A feed begins there. Subscriptions that want what was before lag."""
        self.feeds[partition] = Feed(offset)
        for subscription in self.subscriptions:
            self._lag_behind(subscription, partition, offset)

    def end_surplus(self) -> list[int]:
        """Feeds that nobody needs end: which."""
        ended = sorted(self.feeds.keys() - self.wanted())
        if ended:
            self._remember_positions()
        for partition in ended:
            del self.feeds[partition]
        return ended

    def fall_behind(self, subscription: Subscription, partition: int, offset: int) -> None:
        self.lagging.setdefault(partition, {})[subscription] = None
        subscription.fall_behind(partition, offset)

    def catch_up(self, subscription: Subscription, partition: int) -> bool:
        """It is live there now; whether it is so everywhere."""
        if partition in self.feeds and not self.is_home(subscription, partition):
            # What it has read of a partition that is none of its homes nobody else remembers.
            seen = self.feeds[partition].next
            subscription.start = {**subscription.start, partition: seen}
        del self.lagging[partition][subscription]
        if not self.lagging[partition]:
            del self.lagging[partition]
        return subscription.catch_up(partition)

    def pause(self, subscription: Subscription) -> None:
        """It stays where it is in all partitions that it reads."""
        for partition, feed in self.feeds.items():
            if self.is_home(subscription, partition) and partition not in (subscription.lag or ()):
                self.fall_behind(subscription, partition, feed.next)

    def is_home(self, subscription: Subscription, partition: int) -> bool:
        return subscription.homes is None or partition in subscription.homes

    def position(self, subscription: Subscription) -> dict[int, int]:
        """The next offset of each partition that has been neither sent nor reported as missed."""
        found = dict(subscription.start)
        for partition, feed in self.feeds.items():
            if self.is_home(subscription, partition):
                found[partition] = feed.next
        found |= subscription.lag or {}
        if subscription.backlog is not None:
            found |= subscription.backlog.first_offsets()
        return found

    def observe(self, key: bytes | None, partition: int) -> bool:
        """Learn from a record that is about to be shown; whether other partitions are wanted."""
        if not self.placement.observe(key, partition):
            return False
        if self.placement.is_contradicted:
            self._settle_anew()
        else:
            self.narrow()
        return True

    def narrow(self) -> None:
        """Whoever wants keys wants only their homes, now that those are known.

        Many keys are at home everywhere: then nothing is won, and the loop would stand still.
        """
        most = max(_MANY_KEYS, self.partitions * _MANY_KEYS_PER_PARTITION)
        if self.placement.name is None or not 0 < self._wide <= most:
            return
        self._remember_positions()
        for subscription in self.subscriptions:
            if subscription.homes is None and subscription.wants.keys is not None:
                self._unsettle(subscription)
                self._settle(subscription)

    def grow(self, partitions: int) -> None:
        """There are more partitions, so that keys may be put elsewhere."""
        self.partitions = partitions
        self.placement = Placement(partitions)
        self._settle_anew()

    def _count_keyed(self, change: int) -> None:
        self._keyed += change
        is_open = self.partitions > 1 and not self.placement.is_contradicted
        self.learns = self._keyed > 0 and is_open

    def _count_reading(self, subscription: Subscription, change: int) -> None:
        if not self._has_decoder:
            return
        self.reading_keys += change * subscription.decodes
        self.reading_values += change * (subscription.decodes or subscription.wants.reads_value)

    def _settle_anew(self) -> None:
        """Where keys are put is seen in a new light."""
        self._count_keyed(0)
        self._remember_positions()
        for subscription in self.subscriptions:
            self._unsettle(subscription)
            self._settle(subscription)
            for partition, feed in self.feeds.items():
                self._lag_behind(subscription, partition, feed.next)

    def _lag_behind(self, subscription: Subscription, partition: int, offset: int) -> None:
        """A partition that is at an offset: has the subscription seen all before?"""
        start = subscription.start.get(partition, 0)
        is_new = partition not in (subscription.lag or ())
        if is_new and start < offset and self.is_home(subscription, partition):
            self.fall_behind(subscription, partition, start)

    def _settle(self, subscription: Subscription) -> None:
        subscription.homes = self.homes_of(subscription.wants)
        if subscription.homes is None:
            self._wide += 1
        else:
            self._home_counts.update(subscription.homes)

    def _unsettle(self, subscription: Subscription) -> None:
        if subscription.homes is None:
            self._wide -= 1
        else:
            self._home_counts -= Counter(subscription.homes)

    def _remember_positions(self) -> None:
        """What each has seen becomes its start, while it is known: equal ones share an object."""
        known: dict[int, Mapping[int, int]] = {}
        for subscription in self.subscriptions:
            old = subscription.start
            if subscription.lag is None and id(old) in known and subscription.homes is None:
                subscription.start = known[id(old)]
                continue
            seen = {
                partition: feed.next
                for partition, feed in self.feeds.items()
                if self.is_home(subscription, partition)
            }
            subscription.start = {**old, **seen, **(subscription.lag or {})}
            if subscription.lag is None and subscription.homes is None:
                known[id(old)] = subscription.start
