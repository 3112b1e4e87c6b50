"""A fetch session from the client's side (KIP-227): name the partitions once, then what changes.

The first request (epoch 0) names all partitions; the broker answers with the number of a session.
From then on a request names only partitions that were added or have moved, and those to forget. A
broker that has no room for a session answers with number 0: then each request names them all, the
ones that were served last at the end, so that each has its turn. Pure.

    want, forget   what the owner wants from the next request on
    request        what to send now
    asked          where the broker was told to read a partition: what its answer begins with
    answered       the broker's verdict on session and epoch; False: it knows neither, ask anew

Above: fetch.py. Below: protocol/.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafkaesque.types import TopicPartition

_NO_SESSION: Final = 0
_FULL: Final = 0
_END: Final = -1
_MAX_EPOCH: Final = 2**31 - 1
_LOST: Final = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}


class Limits(NamedTuple):
    """What one fetch may take. `isolation_level` 1 means: committed records only."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int


class Wish(NamedTuple):
    offset: int
    max_bytes: int


class FetchSession:
    """The partitions that are read from one broker."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._id = _NO_SESSION
        self._epoch = _FULL
        self._wanted: dict[TopicPartition, Wish] = {}
        self._told: dict[TopicPartition, Wish] = {}
        self._changed: set[TopicPartition] = set()
        self._forgotten: set[TopicPartition] = set()

    def __len__(self) -> int:
        return len(self._wanted)

    def __contains__(self, place: object) -> bool:
        return place in self._wanted

    def want(self, place: TopicPartition, offset: int, max_bytes: int) -> None:
        wish = Wish(offset, max_bytes)
        self._wanted.pop(place, None)
        self._wanted[place] = wish
        # Kafka forgets after it has added: what is wanted again must not be among the forgotten.
        self._forgotten.discard(place)
        if self._told.get(place) == wish:
            self._changed.discard(place)
        else:
            self._changed.add(place)

    def forget(self, place: TopicPartition) -> None:
        self._wanted.pop(place, None)
        self._changed.discard(place)
        if place in self._told:
            self._forgotten.add(place)

    def request(self) -> FetchRequest:
        if self._epoch == _FULL:
            named: Iterable[TopicPartition] = self._wanted
            self._told = dict(self._wanted)
            self._forgotten.clear()
        else:
            named = self._changed
            self._told.update((place, self._wanted[place]) for place in named)
            for place in self._forgotten:
                del self._told[place]
        request = self._of(self._epoch, _topics(named, self._wanted), _names(self._forgotten))
        self._changed.clear()
        self._forgotten.clear()
        return request

    def asked(self, place: TopicPartition) -> int | None:
        """The offset that an answer about a partition begins with. None: nobody wants it."""
        wish = self._told.get(place)
        return None if wish is None or self._wanted.get(place) != wish else wish.offset

    def unmoved(self) -> list[tuple[TopicPartition, int]]:
        """The partitions that are wanted from where the broker was told last, and from where."""
        return [
            (place, wish.offset)
            for place, wish in self._wanted.items()
            if self._told.get(place) == wish
        ]

    def answered(self, response: FetchResponse) -> bool:
        if response.error_code:
            # A session that is only out of step is ended by the request that starts the next.
            is_gone = response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            self._id = _NO_SESSION if is_gone else self._id
            self._epoch = _FULL
            return response.error_code not in _LOST
        if response.session_id == _NO_SESSION:
            self.restart()
        else:
            self._id = response.session_id
            self._epoch = 1 if self._epoch == _MAX_EPOCH else self._epoch + 1
        return True

    def restart(self) -> None:
        """The broker may have forgotten everything."""
        self._id, self._epoch = _NO_SESSION, _FULL

    def end(self) -> FetchRequest | None:
        """What tells the broker that nobody will come back, if there is anything to end."""
        return self._of(_END, [], []) if self._id else None

    def _of(
        self, epoch: int, topics: list[FetchTopic], forgotten: list[ForgottenTopic]
    ) -> FetchRequest:
        limits = self._limits
        return FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            isolation_level=limits.isolation_level,
            session_id=self._id,
            session_epoch=epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
        )


def _topics(
    places: Iterable[TopicPartition], wishes: dict[TopicPartition, Wish]
) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for place in places:
        if place.topic not in topics:
            topics[place.topic] = FetchTopic(topic=place.topic)
        wish = wishes[place]
        topics[place.topic].partitions.append(
            FetchPartition(
                partition=place.partition,
                fetch_offset=wish.offset,
                partition_max_bytes=wish.max_bytes,
            )
        )
    return list(topics.values())


def _names(places: Iterable[TopicPartition]) -> list[ForgottenTopic]:
    topics: dict[str, list[int]] = {}
    for place in places:
        topics.setdefault(place.topic, []).append(place.partition)
    return [ForgottenTopic(topic=name, partitions=numbers) for name, numbers in topics.items()]
