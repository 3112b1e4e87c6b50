"""Which partitions a consumer reads: those a group gives it, or all of them, by hand.

`ByGroup` is a member of a group: it begins where the group has committed, and at `start` where
nothing is. `ByHand` takes every partition of its topics, and looks now and then for new ones,
which it reads from their beginning. Both tell their owner what is theirs and what no longer is.
Above: intake.py. Below: starts.py.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import confluent_kafka
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from kafkaesque.client.starts import EARLIEST, Start, resolve, watermarks
from kafkaesque.types import TopicPartition

LOOK_FOR_NEW_S = 5.0
# Short, because Ctrl-C waits for it; who gets no answer asks again.
ASK_S = 2.0
# In a rebalance there is no second time to ask.
ASK_ONCE_S = 10.0


class Owner(Protocol):
    def take(
        self, starts: Mapping[TopicPartition, int | None], ends: dict[TopicPartition, int] | None
    ) -> None:
        """These partitions are ours; where each begins, if known, and ends, if we are to end."""

    def leave(self, places: Sequence[TopicPartition], *, lost: bool) -> None:
        """These are not ours any more; if lost, somebody else has them already."""


class Assignment(Protocol):
    def begin(self) -> None: ...

    def refresh(self) -> None: ...


class ByHand:
    def __init__(
        self, client: Any, topics: Sequence[str], start: Start, owner: Owner, *, wants_ends: bool
    ) -> None:
        self._client = client
        self._topics = topics
        self._start = start
        self._owner = owner
        self._wants_ends = wants_ends
        self._mine: set[TopicPartition] | None = None
        self._look_at = 0.0

    def begin(self) -> None:
        """Raises KafkaException: nobody answers yet, or a topic is not there."""
        if self._mine is None:
            found = self._find(strictly=True)
            starts = resolve(self._client, self._start, found, ASK_S)
            self._client.assign(_spelled(starts))
            self._mine = set()
            self._have(starts)

    def refresh(self) -> None:
        if time.monotonic() < self._look_at or self._mine is None:
            return
        try:
            new = [place for place in self._find(strictly=False) if place not in self._mine]
        except KafkaException:  # Nobody answers: later, then.
            self._look_at = time.monotonic() + LOOK_FOR_NEW_S
            return
        starts = dict.fromkeys(new, EARLIEST)
        if new:
            self._client.incremental_assign(_spelled(starts))
        self._have(starts)

    def _have(self, starts: dict[TopicPartition, int]) -> None:
        assert self._mine is not None
        self._mine |= starts.keys()
        self._look_at = time.monotonic() + LOOK_FOR_NEW_S
        ends = _ends(self._client, starts) if self._wants_ends else None
        self._owner.take({p: o if o >= 0 else None for p, o in starts.items()}, ends)

    def _find(self, *, strictly: bool) -> list[TopicPartition]:
        there = self._client.list_topics(timeout=ASK_S).topics
        found = []
        for topic in self._topics:
            names = _matching(topic, there) if topic.startswith("^") else [topic]
            if strictly and not topic.startswith("^") and topic not in there:
                raise KafkaException(ClientError(ClientError.UNKNOWN_TOPIC_OR_PART, topic))
            found += [
                TopicPartition(name, number)
                for name in names
                if name in there
                for number in sorted(there[name].partitions)
            ]
        return found


class ByGroup:
    def __init__(
        self,
        client: Any,
        topics: Sequence[str],
        start: Start,
        owner: Owner,
        *,
        wants_ends: bool,
        is_cooperative: bool,
    ) -> None:
        self._client = client
        self._topics = topics
        self._start = start
        self._owner = owner
        self._wants_ends = wants_ends
        self._is_cooperative = is_cooperative
        self._is_begun = False

    def begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self._client.subscribe(
                list(self._topics),
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._lost,
            )

    def refresh(self) -> None:
        """New partitions come with a rebalance."""

    def _assigned(self, client: Any, partitions: list[Any]) -> None:
        places = _places(partitions)
        starts: dict[TopicPartition, int | None] = dict.fromkeys(places)
        if not isinstance(self._start, str) and places:
            starts |= self._committed_or_start(places)
            assign = client.incremental_assign if self._is_cooperative else client.assign
            assign(_spelled({p: o for p, o in starts.items() if o is not None}))
        ends = _ends(client, places) if self._wants_ends else None
        self._owner.take({p: o if o and o >= 0 else None for p, o in starts.items()}, ends)

    def _committed_or_start(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        asked = [confluent_kafka.TopicPartition(*place) for place in places]
        found = {
            TopicPartition(each.topic, each.partition): each.offset
            for each in self._client.committed(asked, ASK_ONCE_S)
        }
        fresh = [place for place in places if found[place] < 0]
        return found | resolve(self._client, self._start, fresh, ASK_ONCE_S)

    def _revoked(self, _client: Any, partitions: list[Any]) -> None:
        self._owner.leave(_places(partitions), lost=False)

    def _lost(self, _client: Any, partitions: list[Any]) -> None:
        self._owner.leave(_places(partitions), lost=True)


def _matching(pattern: str, there: Mapping[str, Any]) -> list[str]:
    matches = re.compile(pattern).match
    return sorted(name for name in there if matches(name) and not name.startswith("__"))


def _ends(client: Any, places: Any) -> dict[TopicPartition, int]:
    """Where to read to; a partition with nothing in it has no such place."""
    marks = {place: watermarks(client, place, ASK_S) for place in places}
    return {place: high for place, (low, high) in marks.items() if low < high}


def _places(partitions: list[Any]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in partitions]


def _spelled(starts: Mapping[TopicPartition, int]) -> list[Any]:
    return [confluent_kafka.TopicPartition(*place, offset) for place, offset in starts.items()]
