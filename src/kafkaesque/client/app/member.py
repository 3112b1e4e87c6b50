"""One group's consumer: a thread that polls, hands events to lanes, and commits what they did.

It polls all the time, however slow handlers are, so that the group never takes it for dead. A
partition whose lane has enough to do, or has stopped, is paused and the others go on. Committed is
only what a lane says is done: every `commit_interval_s`, before partitions move to another member
(after the lanes were given time to finish what they are at), and at the end.

Partitions come and go one by one (cooperative-sticky); with an assignor that takes all away first
it works too. Above: app.py. Below: lane.py, first_places.py.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from kafkaesque.client.absence import Absence
from kafkaesque.client.answers import words_of
from kafkaesque.client.app.dead_letters import DeadLetters
from kafkaesque.client.app.deliveries import event_of, prepare
from kafkaesque.client.app.first_places import first_places
from kafkaesque.client.app.handlers import Handler
from kafkaesque.client.app.lane import Lane
from kafkaesque.client.app.status import PartitionStatus, State
from kafkaesque.client.app.workers import Workers
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.profiles import consumer_config, made
from kafkaesque.client.registry.errors import RegistryAwayError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

_POLL_S = 0.1
_AT_ONCE = 100
_RETRY_S = 1.0
_BUFFER_BYTES = 32 << 20
_CLOSING_S = 5.0
_COMMIT_TIMEOUT_S = 30.0
# A partition that goes on after a pause waits for the others' Fetch to come back.
_DEFAULTS = {"fetch.wait.max.ms": 100}
_CLASSIC = {"partition.assignment.strategy": "cooperative-sticky", "heartbeat.interval.ms": 1000}
# What App stands on, and so nobody may change. An offset that is no longer there means the oldest
# one that is: nothing may be skipped.
_OURS = {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
_log = logging.getLogger("kafkaesque.app")


class Member:
    """Make it and `run` it in a thread of its own; `stop` may come from any other."""

    def __init__(
        self,
        group: str,
        handlers: Mapping[str, Handler],
        connection: Connection,
        settings: Mapping[str, Any],
        *,
        loop: asyncio.AbstractEventLoop,
        workers: Workers,
        dead_letters: DeadLetters,
        commit_interval_s: float,
        grace_s: float,
    ) -> None:
        self.group = group
        self._handlers = handlers
        self._connection = connection
        self._loop = loop
        self._workers = workers
        self._dead_letters = dead_letters
        self._commit_interval_s = commit_interval_s
        self._grace_s = grace_s
        self._lanes: dict[TopicPartition, Lane] = {}
        self._stragglers: dict[TopicPartition, Future[Any]] = {}
        self._paused: set[TopicPartition] = set()
        self._arrived: dict[TopicPartition, list[Event]] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._complaint: str | None = None
        self._commit_at = 0.0
        self._ask_at = 0.0
        self._stopping = threading.Event()
        self._absence = Absence(connection, _log.warning, f"group {group} waits for it")
        config = consumer_config(connection, "latency", _defaults(settings) | dict(settings))
        # Of the new protocol (KIP-848) nothing else is known.
        assignor = config.get("partition.assignment.strategy", "cooperative")
        self._is_incremental = "cooperative" in str(assignor)
        callbacks = {"error_cb": self._absence.note, "on_commit": self._note_commit}
        self._consumer = made(Consumer, config | _OURS | callbacks | {"group.id": group})

    @property
    def status(self) -> list[PartitionStatus]:
        lanes = self._lanes.copy()
        return [lanes[place].status for place in sorted(lanes)]

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        """Join the group and work until `stop`; leave it with everything that is done committed."""
        try:
            self._consumer.subscribe(
                list(self._handlers),
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._lost,
            )
            while not self._stopping.is_set():
                self._poll()
                self._hand_out()
                self._steer()
                self._maybe_commit()
        finally:
            self._release(list(self._lanes))
            self._consumer.close()
        _log.info("left group %s", self.group)

    def _poll(self) -> None:
        """Take what has come; wait a little for the first. Rebalances happen in here."""
        timeout_s = _POLL_S
        for _ in range(_AT_ONCE):
            message = self._consumer.poll(timeout_s)
            if message is None:
                return
            if self._is_event(message):
                event = event_of(message)
                place = TopicPartition(event.topic, event.partition)
                self._arrived.setdefault(place, []).append(event)
            timeout_s = 0.0

    def _is_event(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            self._absence.end()
            self._complaint = None
            return True
        if error.fatal():
            raise ClusterError(f"group {self.group}: {words_of(error)}")
        self._complain(f"{message.topic() or 'no topic'}: {words_of(error)}; it is tried again")
        return False

    def _complain(self, sentence: str) -> None:
        """Once, until something works again or another thing does not."""
        if sentence != self._complaint:
            _log.warning("group %s: %s", self.group, sentence)
        self._complaint = sentence

    def _hand_out(self) -> None:
        waiting: dict[TopicPartition, list[Event]] = {}
        for place, events in self._arrived.items():
            if (lane := self._lanes.get(place)) is None:
                continue
            if not self._is_prepared(lane, events):
                waiting[place] = events
                continue
            lane.handed += len(events)
            lane.limit = _limit(lane.handler, events)
            self._loop.call_soon_threadsafe(lane.add, events)
        self._arrived = waiting

    def _is_prepared(self, lane: Lane, events: Sequence[Event]) -> bool:
        """Whether the handler's forms can decode them: a registry that is away is waited for."""
        if lane.handler.key.prepare is None and lane.handler.value.prepare is None:
            return True
        if time.monotonic() < self._ask_at:
            return False
        try:
            prepare(events, lane.handler)
        except RegistryAwayError as error:
            self._complain(f"has to wait: {error}")
            self._ask_at = time.monotonic() + _RETRY_S
            return False
        return True

    def _steer(self) -> None:
        """Pause partitions that have enough, and let those go on that want more."""
        enough = [p for p, lane in self._lanes.items() if p in self._arrived or _has_enough(lane)]
        hungry = [
            place
            for place in self._paused
            if place not in self._arrived and _is_hungry(self._lanes[place])
        ]
        pausing = [place for place in enough if place not in self._paused]
        if pausing:
            self._consumer.pause(_partitions(pausing))
            self._paused.update(pausing)
        if hungry:
            self._consumer.resume(_partitions(hungry))
            self._paused.difference_update(hungry)

    def _assigned(self, consumer: Consumer, partitions: list[Any]) -> None:
        begun = self._first_places(consumer, partitions)
        if begun is None:
            return
        if self._is_incremental:
            consumer.incremental_assign(begun)
        else:
            consumer.assign(begun)
        for place in _places(partitions):
            lane = Lane(
                place,
                self._handlers[place.topic],
                self._loop,
                self._workers,
                self._dead_letters,
                self._stragglers.pop(place, None),
            )
            self._lanes[place] = lane
            self._loop.call_soon_threadsafe(lane.start)
        _log.info("group %s: given %s; has %d", self.group, _names(partitions), len(self._lanes))

    def _first_places(self, consumer: Consumer, partitions: list[Any]) -> list[Any] | None:
        """Tries until the cluster answers; None if we are told to stop meanwhile."""
        while not self._stopping.is_set():
            try:
                return first_places(consumer, self._handlers, partitions)
            except KafkaException as error:
                self._complain(f"has to wait: {words_of(error.args[0])}")
                self._stopping.wait(_RETRY_S)
        return None

    def _revoked(self, _consumer: Consumer, partitions: list[Any]) -> None:
        if partitions:
            self._release(_places(partitions))
            _log.info("group %s: gave %s back", self.group, _names(partitions))

    def _lost(self, _consumer: Consumer, partitions: list[Any]) -> None:
        """Others have them already: what was done of them cannot be committed any more."""
        _log.warning("group %s: lost %s", self.group, _names(partitions))
        self._release(_places(partitions), is_lost=True)

    def _release(self, places: Iterable[TopicPartition], is_lost: bool = False) -> None:
        lanes = [self._lanes.pop(place) for place in places if place in self._lanes]
        for lane in lanes:
            self._arrived.pop(lane.place, None)
            self._paused.discard(lane.place)
        closing = asyncio.run_coroutine_threadsafe(
            _close(lanes, 0.0 if is_lost else self._grace_s), self._loop
        )
        try:
            closing.result(self._grace_s + _CLOSING_S)
        except TimeoutError:
            _log.warning("group %s: an async handler blocks the loop", self.group)
        except CancelledError:  # A second signal has ended the loop: no time is left for handlers.
            pass
        for lane in lanes:
            if lane.straggler is not None and not lane.straggler.done():
                _log.warning("%s: the handler is still at offset %s", lane, lane.position)
                self._stragglers[lane.place] = lane.straggler
        if not is_lost:
            self._commit_now(lanes)
        for lane in lanes:
            self._committed.pop(lane.place, None)

    def _maybe_commit(self) -> None:
        if time.monotonic() < self._commit_at:
            return
        self._commit_at = time.monotonic() + self._commit_interval_s
        if offsets := self._uncommitted(self._lanes.values()):
            # Until the answer is there; a cluster that is away would be sent ever more of them.
            self._commit_at += _COMMIT_TIMEOUT_S
            try:
                self._consumer.commit(offsets=offsets, asynchronous=True)
            except KafkaException as error:
                self._note_commit(error.args[0], [])

    def _note_commit(self, error: KafkaError | None, partitions: list[Any]) -> None:
        """The answer to a commit of `_maybe_commit`, told by a poll."""
        self._commit_at = time.monotonic() + self._commit_interval_s
        if error is not None:
            self._complain(f"not committed yet: {words_of(error)}")
            return
        self._absence.end()
        self._complaint = None
        for partition in partitions:
            if partition.error is None:
                place = TopicPartition(partition.topic, partition.partition)
                self._committed[place] = partition.offset

    def _commit_now(self, lanes: Iterable[Lane]) -> None:
        offsets = self._uncommitted(lanes)
        if not offsets:
            return
        try:
            # A commit that nobody answers would hold up the end as long as a session lasts.
            self._connection.require_an_answer()
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except ClusterError as error:
            self._warn_of_repetition(str(error))
        except KafkaException as error:
            self._warn_of_repetition(words_of(error.args[0]))

    def _warn_of_repetition(self, why: str) -> None:
        _log.warning(
            "group %s: what was done last is not committed, and will be done again: %s",
            *(self.group, why),
        )

    def _uncommitted(self, lanes: Iterable[Lane]) -> list[Any]:
        return [
            confluent_kafka.TopicPartition(*lane.place, lane.position)
            for lane in lanes
            if lane.position not in (None, self._committed.get(lane.place))
        ]


def _defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    is_classic = settings.get("group.protocol", "classic") == "classic"
    return _DEFAULTS | (_CLASSIC if is_classic else {})


async def _close(lanes: Iterable[Lane], grace_s: float) -> None:
    await asyncio.gather(*(lane.close(grace_s) for lane in lanes))


def _limit(handler: Handler, latest: Sequence[Event]) -> int:
    """How many events of that size may wait."""
    size = sum(len(event.key or b"") + len(event.value or b"") for event in latest)
    return min(handler.buffer, max(1, _BUFFER_BYTES * len(latest) // max(size, 1)))


def _has_enough(lane: Lane) -> bool:
    return lane.state is State.STOPPED or lane.backlog >= lane.limit


def _is_hungry(lane: Lane) -> bool:
    return lane.state is not State.STOPPED and lane.backlog <= lane.limit // 2


def _places(partitions: Iterable[Any]) -> list[TopicPartition]:
    return [TopicPartition(it.topic, it.partition) for it in partitions]


def _partitions(places: Iterable[TopicPartition]) -> list[Any]:
    return [confluent_kafka.TopicPartition(*place) for place in places]


def _names(partitions: Iterable[Any]) -> str:
    return ", ".join(f"{it.topic}/{it.partition}" for it in partitions) or "nothing"
