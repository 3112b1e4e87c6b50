"""Who wants a record: the subscriptions of one topic, indexed by what they ask for.

A subscription stands in one place, the most selective that it allows: by key, by prefix, by header,
by its predicate, or among those who take everything. What else it asks for is checked when it is
found there. A record costs a look-up in each kind of place that is in use, and its matches, however
many subscriptions there are. With a decoder, predicates see decoded values; nothing is asked for
here. Pure. Above: stream.py. Below: wants.py, client/filters.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from kafkaesque.client.filters import Documents, PredicateIndex, Subject
from kafkaesque.records.record import Record

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.subscription import Subscription

K = TypeVar("K")


class Interests:
    def __init__(self, topic: str, decoder: Documents | None = None) -> None:
        self._topic = topic
        self._decoder = decoder
        self._everything: dict[Subscription, None] = {}
        self._by_key: dict[bytes, tuple[Subscription, ...]] = {}
        self._by_prefix: dict[int, dict[bytes, list[Subscription]]] = {}
        self._by_header: dict[tuple[str, bytes | None], list[Subscription]] = {}
        self._by_predicate: PredicateIndex[Subscription] = PredicateIndex()
        self._predicates = 0
        self._others = 0
        """Subscriptions for whom it is not enough to look at the key."""

    def add(self, subscription: "Subscription") -> None:
        wants = subscription.wants
        self._others += wants.keys is None or subscription.is_checked_further
        if wants.keys is not None:
            for key in wants.keys:
                self._by_key[key] = (*self._by_key.get(key, ()), subscription)
        elif wants.prefix is not None:
            by_prefix = self._by_prefix.setdefault(len(wants.prefix), {})
            by_prefix.setdefault(wants.prefix, []).append(subscription)
        elif wants.headers:
            self._by_header.setdefault(wants.headers[0], []).append(subscription)
        elif wants.predicate is not None:
            self._by_predicate.add(wants.predicate, subscription)
            self._predicates += 1
        else:
            self._everything[subscription] = None

    def remove(self, subscription: "Subscription") -> None:
        wants = subscription.wants
        self._others -= wants.keys is None or subscription.is_checked_further
        if wants.keys is not None:
            for key in wants.keys:
                self._remove_from(key, subscription)
        elif wants.prefix is not None:
            size = len(wants.prefix)
            _remove(self._by_prefix[size], wants.prefix, subscription)
            if not self._by_prefix[size]:
                del self._by_prefix[size]
        elif wants.headers:
            _remove(self._by_header, wants.headers[0], subscription)
        elif wants.predicate is not None:
            self._by_predicate.remove(wants.predicate, subscription)
            self._predicates -= 1
        else:
            del self._everything[subscription]

    def matching(self, partition: int, record: Record) -> "Sequence[Subscription]":
        """Each subscription that wants the record, once."""
        if not self._others:
            return () if record.key is None else self._by_key.get(record.key, ())
        found = list(self._everything)
        unsure: list[Subscription] = []
        key = record.key
        if key is not None:
            for each in self._by_key.get(key, ()):
                (unsure if each.is_checked_further else found).append(each)
            if self._by_prefix:
                self._find_by_prefix(key, found, unsure)
        if self._by_header and record.headers:
            for header in dict.fromkeys(record.headers):
                unsure += self._by_header.get(header, ())
        if unsure or self._predicates:
            subject = Subject(self._topic, partition, record, self._decoder)
            found += [each for each in unsure if each.wants.matches_beside_key(subject)]
            if self._predicates:
                found += self._by_predicate.matches(subject)
        return found

    def _remove_from(self, key: bytes, subscription: "Subscription") -> None:
        left = tuple(each for each in self._by_key[key] if each is not subscription)
        if left:
            self._by_key[key] = left
        else:
            del self._by_key[key]

    def _find_by_prefix(
        self, key: bytes, found: "list[Subscription]", unsure: "list[Subscription]"
    ) -> None:
        for size, by_prefix in self._by_prefix.items():
            for each in by_prefix.get(key[:size], ()):
                (unsure if each.is_checked_further else found).append(each)


def _remove(places: "dict[K, list[Subscription]]", place: K, subscription: "Subscription") -> None:
    places[place].remove(subscription)
    if not places[place]:
        del places[place]
