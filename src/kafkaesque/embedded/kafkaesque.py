"""`Kafkaesque`: a log, topics, partitions, groups in one object; with `with`, a Kafka broker too.

    k = Kafkaesque()                      in memory
    k = Kafkaesque("data")                in Kafka's files, there again next time
    with Kafkaesque() as k:               serves Kafka clients at k.bootstrap_servers

It may be called from any thread: each call goes to the broker's loop and waits there for its turn.
It ends with `close`, at the end of a `with`, or with the program.
Above: the program. Below: thread.py runs the broker, node.py does the work on its loop.
"""

import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, overload

from kafkaesque.broker.apis import APIS, Api
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.embedded.bounds import Bounds
from kafkaesque.embedded.group import ConsumerGroup
from kafkaesque.embedded.members import Members, bury_members
from kafkaesque.embedded.node import NewEvent, Node, Span, span_of
from kafkaesque.embedded.stale import Shelf, StaleEvent, open_shelf
from kafkaesque.embedded.thread import BrokerThread
from kafkaesque.embedded.topic import Topic, describe_span
from kafkaesque.embedded.values import Key, encode_key, encode_value
from kafkaesque.event import Event
from kafkaesque.protocol.messages import PRODUCE
from kafkaesque.records.murmur2 import partition_for_key

P = ParamSpec("P")
T = TypeVar("T")


class Kafkaesque:
    """A broker in this process.

    `partitions` is how many a topic has that a put makes. `max_events` bounds each partition:
    beyond it, the oldest `drop` events go to the file `stale` (.csv or .sqlite), or away.
    `settings` are the broker's, by Kafka's names.
    """

    def __init__(
        self,
        directory: str | PathLike[str] | None = None,
        *,
        partitions: int = 1,
        max_events: int | None = None,
        drop: int | None = None,
        stale: str | PathLike[str] | None = None,
        settings: Mapping[str, str] | None = None,
        apis: Mapping[int, Api] = APIS,
    ) -> None:
        if partitions < 1:
            raise ValueError(f"partitions={partitions}: a topic has 1 at least")
        self._shelf = _shelf(stale, max_events, drop, is_durable=directory is not None)
        bounds = Bounds(max_events, drop, self._shelf) if max_events is not None else None
        if bounds:
            apis = {**apis, PRODUCE: bounds.wrap(apis[PRODUCE])}
        self._directory = None if directory is None else Path(directory)
        config = BrokerConfig.of((), self._directory, settings or {})
        self._thread = BrokerThread(config, apis=apis).start()
        self._node = Node(self._thread.server.broker, partitions, bounds)
        self._groups: dict[str, Members] = {}
        self._end = weakref.finalize(self, _close, self._thread, self._groups)
        try:
            self._call(self._node.enforce_bounds)
            self._call(bury_members, self._node)
        except BaseException:
            self.close()
            raise

    # Producing

    @overload
    def put(
        self, topic: str, value: Any, /, *, key: Key = None, partition: int | None = None
    ) -> int: ...
    @overload
    def put(self, value: Any, /, *, topics: Sequence[str], key: Key = None) -> int: ...
    def put(
        self,
        *args: Any,
        key: Key = None,
        partition: int | None = None,
        topics: Sequence[str] | None = None,
    ) -> int:
        """Add an event: its offset. It is durable and seen by everyone when this returns.

        `put(topic, value)` names the topic. `put(value, topics=[…])` chooses one by hash, of the
        key if there is one, else of the value.
        """
        topic, value = _topic_and_value(args, key, topics)
        event = NewEvent(encode_key(key), *encode_value(value))
        return self._call(self._node.append, topic, [event], partition)[0]

    def extend(
        self,
        topic: str,
        values: Iterable[Any],
        *,
        key: Key | Callable[[Any], Key] = None,
        partition: int | None = None,
    ) -> list[int]:
        """Add many events at once: their offsets. `key` may be a function of the value.

        They follow each other without anything between them. Without a key all of them go to one
        partition.
        """
        events = [
            NewEvent(encode_key(key(value) if callable(key) else key), *encode_value(value))
            for value in values
        ]
        return self._call(self._node.append, topic, events, partition)

    # Reading

    def get(self, topic: str, n: int, partition: int | None = None) -> Any:
        """The value at offset n; −1 is the latest, −2 the one before it."""
        return self._call(self._node.event, topic, n, partition).value

    def earliest(self, topic: str, partition: int | None = None) -> tuple[int, Any]:
        """(offset, value) of the oldest event that there is."""
        event = self._call(self._node.earliest, topic, partition)
        return event.offset, event.value

    def latest(self, topic: str, partition: int | None = None) -> tuple[int, Any]:
        """(offset, value) of the newest event."""
        event = self._call(self._node.event, topic, -1, partition)
        return event.offset, event.value

    def stale(self, topic: str) -> list[StaleEvent]:
        """What fell off a topic's old end, as (partition, offset, timestamp, key, value)."""
        if self._shelf is None:
            raise ValueError("nothing is kept of what falls off: open it with stale='x.csv'")
        return self._shelf.rows(topic)

    # Consumers

    def commit(self, consumer: str, topic: str, offset: int, partition: int | None = None) -> None:
        """Keep a consumer's position: the offset that it will read next."""
        self._call(self._node.commit_one, consumer, topic, offset, partition)

    def committed(self, consumer: str, topic: str, partition: int | None = None) -> int | None:
        """Where a consumer reads on; None if it has never committed."""
        return self._call(self._node.committed, consumer, topic, partition)

    def group(self, name: str, topics: Iterable[str] | None = None) -> ConsumerGroup:
        """The group of that name, over these topics; without any, over all that there are."""
        _check_list(topics)
        wanted = None if topics is None else frozenset(topics)
        return ConsumerGroup(self, name, self._call(self._members, name, wanted))

    # Topics

    def create(
        self,
        topic: str,
        partitions: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> Topic:
        """Make a topic. A put makes one too, with the defaults."""
        self._call(self._node.create, topic, partitions, config)
        return Topic(self, topic)

    def delete(self, topic: str) -> None:
        """Delete a topic and all its events."""
        self._call(self._node.delete, topic)

    def topic(self, name: str) -> Topic:
        return Topic(self, name)

    @property
    def topics(self) -> list[str]:
        return sorted(self._call(self._topic_names))

    # Serving

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Take Kafka clients, on a free port unless told which: their bootstrap.servers."""
        self._thread.listen(host, port)
        return self.bootstrap_servers

    @property
    def bootstrap_servers(self) -> str:
        if not self._thread.server.listeners:
            raise RuntimeError("it does not serve yet: use it in a `with`, or call serve()")
        return self._thread.bootstrap_servers

    def close(self) -> None:
        """Stop, cleanly. What is on disk is there again next time."""
        self._end()

    def __enter__(self) -> Self:
        if not self._thread.server.listeners:
            self.serve()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = str(self._directory) if self._directory else "in memory"
        if not self._end.alive:
            return f"<{type(self).__name__} {where}, closed>"
        if not self._thread.is_usable:
            return f"<{type(self).__name__} {where}, of another process>"
        serving = self._thread.bootstrap_servers
        head = f"{type(self).__name__} {where}" + (f", serving {serving}" if serving else "")
        return "\n  ".join([f"<{head}", *self._call(self._lines)]) + ">"

    # What Topic and ConsumerGroup use

    def _call(
        self, work: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **named: P.kwargs
    ) -> T:
        return self._thread.call(work, *args, **named)

    def _spans(self, topic: str) -> list[Span]:
        return self._call(self._node.spans, topic)

    def _span(self, topic: str, partition: int | None) -> Span:
        return self._call(self._node.span, topic, partition)

    def _partition_count(self, topic: str) -> int:
        return self._call(self._node.partition_count, topic)

    def _shown_partitions(self, topic: str) -> str:
        async def shown() -> str:
            return _shown(self._node.broker.topics.named(topic).partitions)

        return self._call(shown)

    def _events(self, topic: str, start: int, end: int, partition: int) -> list[Event]:
        return self._call(self._node.events, topic, start, end, partition)

    async def _members(self, name: str, topics: frozenset[str] | None) -> Members:
        members = self._groups.get(name)
        if members is None:
            members = self._groups[name] = Members(self._node, name, topics)
        elif topics is not None and topics != members.topics:
            message = f"group {name} reads {_spelled(members.topics)}: it cannot read others too"
            raise ValueError(f"{message}; give the other one another name")
        return members

    async def _topic_names(self) -> list[str]:
        return [topic.name for topic in self._node.topics()]

    async def _lines(self) -> list[str]:
        """Topics with their partitions and offsets, groups with their members and positions."""
        lines = [f"topic {each.name}: {_shown(each.partitions)}" for each in self._node.topics()]
        table = self._node.broker.coordinator.table
        for group_id in table.group_ids():
            committed = table.offsets.of_group(group_id)
            shown = [f"{name} at {at.offset}" for name, at in sorted(committed.items())]
            group = table.group(group_id)
            members = [m.client_id for m in group.describe().members] if group else []
            shown.append(f"members {', '.join(members)}" if members else "no members")
            lines.append(f"group {group_id}: {', '.join(shown)}")
        return lines


def _shown(partitions: Iterable[Partition]) -> str:
    return ", ".join(f"{each.name.partition}: {_shown_span(each)}" for each in partitions)


def _shown_span(partition: Partition) -> str:
    if partition.offline is not None:
        return "offline"
    span = span_of(partition)
    return describe_span(span.start, span.end)


def _close(thread: BrokerThread, groups: dict[str, Members]) -> None:
    """Not a method: it must not keep alive what it ends."""

    async def leave() -> None:
        for members in list(groups.values()):
            await members.close()

    thread.stop(leave)


def _shelf(
    stale: str | PathLike[str] | None, max_events: int | None, drop: int | None, *, is_durable: bool
) -> Shelf | None:
    if max_events is None and (drop is not None or stale is not None):
        raise ValueError("drop and stale say what happens beyond max_events: give that too")
    return None if stale is None else open_shelf(Path(stale), is_durable)


def _topic_and_value(
    args: tuple[Any, ...], key: Key, topics: Sequence[str] | None
) -> tuple[str, Any]:
    if topics is None:
        if len(args) != 2:
            raise TypeError("put(topic, value), or put(value, topics=[…])")
        return args
    _check_list(topics)
    if len(args) != 1 or not topics:
        raise TypeError("put(value, topics=[…]) takes one value, and one topic at least")
    hashed = encode_key(key) if key is not None else encode_value(args[0])[0]
    return topics[partition_for_key(hashed or b"", len(topics))], args[0]


def _check_list(topics: Iterable[str] | None) -> None:
    if isinstance(topics, str):
        raise TypeError(f"topics is a list of names: topics=[{topics!r}]")


def _spelled(topics: frozenset[str] | None) -> str:
    return "all topics" if topics is None else ", ".join(sorted(topics))
