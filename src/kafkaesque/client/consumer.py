"""`Consumer`: the events of topics, one after the other, for programs that wait or await.

    for event in Consumer("ticks", group="billing"):
        ...
    async for event in Consumer("ticks"):
        ...

With a group it reads its share, and commits what the loop has finished with: the event before the
one it holds. Without one it reads everything and commits nothing. An event that cannot be decoded
is an error in the event's place: whoever goes on iterating has passed over it. With `dead_letters`
it is in that topic instead.
A program that awaits has a thread that takes in batches while the program waits; `commit`, `seek`
and `close` are done there, and are awaited.
Above: the program, table.py. Below: intake.py, event_reading.py, dead_letter_box.py.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kafkaesque.client.connection import Connection
from kafkaesque.client.dead_letter_box import DeadLetterBox
from kafkaesque.client.event_reading import batch_reader
from kafkaesque.client.intake import Intake
from kafkaesque.client.logs import warn
from kafkaesque.client.profiles import (
    DEFAULT_BROKERS,
    Profile,
    connection_of,
    consumer_config,
    named,
)
from kafkaesque.client.schema_forms.forms import close, forms
from kafkaesque.client.schema_forms.options import SchemaOptions
from kafkaesque.client.serde import DecodeEventError, Form
from kafkaesque.client.starts import Start, check_start
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

OnError: TypeAlias = Literal["raise", "skip"] | Callable[[DecodeEventError], None]

# How long one wait may last: Ctrl-C, stop() and close() wait for its end.
SLICE_S = 0.2
COMMIT_INTERVAL_MS = 1000
# A batch costs a turn of the thread.
ASYNC_BATCH = 500


class Consumer:
    """Other keywords are librdkafka's settings."""

    def __init__(
        self,
        topics: str | Iterable[str],
        brokers: str | Connection = DEFAULT_BROKERS,
        *,
        group: str | None = None,
        start: Start = "earliest",
        until: Literal["end"] | None = None,
        timeout: float | None = None,
        commit: Literal["auto", "explicit"] = "auto",
        on_error: OnError = "raise",
        key: Form = "str",
        value: Form = "json",
        schema: Any = None,
        key_schema: Any = None,
        registry: "str | RegistryClient | None" = None,
        dead_letters: str | None = None,
        profile: Profile = "latency",
        settings: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> None:
        _check(start, until, commit, on_error)
        self.topics = (topics,) if isinstance(topics, str) else tuple(topics)
        self.group = group
        self._connection = connection_of(brokers)
        self._timeout = timeout
        self._on_error = on_error
        more = named(settings, keywords)
        interval_ms = float(more.pop("auto.commit.interval.ms", COMMIT_INTERVAL_MS))
        self._forms = forms(key, value, SchemaOptions(schema, key_schema, registry))
        self._intake = Intake(
            self._connection,
            consumer_config(self._connection, profile, more),
            batch_reader(*self._forms),
            self.topics,
            group,
            start,
            wants_ends=until == "end",
            commits=group is not None and commit == "auto",
            commit_interval_s=interval_ms / 1000,
        )
        self._letters: DeadLetterBox | None = None
        if dead_letters is not None:
            self._letters = DeadLetterBox(self._connection, dead_letters, group)
        self._until_end = until == "end"
        self._waiting_since: float | None = None
        self._is_stopped = False
        self._is_entered = False
        self._is_closed = False
        self._executor: ThreadPoolExecutor | None = None

    def __iter__(self) -> Iterator[Event]:
        self._require_open()
        intake, buffer, progress = self._intake, self._intake.buffer, self._intake.progress
        clock = time.monotonic
        while True:
            if not buffer or clock() >= intake.look_at:
                if not self._step():
                    break
                continue
            event = buffer.popleft()
            if type(event) is not Event:
                self._put_aside(event)
                self._no_event(event)
                continue
            held = progress.held
            if held is None or held.partition != event.partition or held.topic != event.topic:
                progress.hand_out(event)
            else:
                # The same in short: this is the hot path.
                progress.held = event
            yield event
        self._end()

    async def __aiter__(self) -> AsyncIterator[Event]:
        self._require_open()
        self._intake.batch = ASYNC_BATCH
        intake, buffer, progress = self._intake, self._intake.buffer, self._intake.progress
        clock = time.monotonic
        while True:
            if not buffer or clock() >= intake.look_at:
                if not await self._in_thread(self._step):
                    break
                continue
            event = buffer.popleft()
            if type(event) is not Event:
                if self._letters is not None:
                    await self._in_thread(self._put_aside, event)
                self._no_event(event)
                continue
            held = progress.held
            if held is None or held.partition != event.partition or held.topic != event.topic:
                progress.hand_out(event)
            else:
                # The same in short: this is the hot path.
                progress.held = event
            yield event
        await self._in_thread(self._end)
        if not self._is_entered:
            self._end_thread()

    def commit(self, event: Event | None = None) -> Any:
        """Everything up to this event, itself included; without one, all that was handed out."""
        if event is not None:
            offsets = {TopicPartition(event.topic, event.partition): event.offset + 1}
        else:
            offsets = self._intake.progress.uncommitted(with_held=True)
        return self._either(self._intake.commit, offsets)

    def seek(self, partition: int | TopicPartition, offset: int) -> Any:
        """The next event of that partition is the one at `offset`."""
        return self._either(self._intake.seek, self._place(partition), offset)

    def pause(self, *partitions: int | TopicPartition) -> None:
        """Hand out nothing of these partitions, or of all, until `resume`."""
        self._intake.pause(map(self._place, partitions) if partitions else self.assignment)

    def resume(self, *partitions: int | TopicPartition) -> None:
        self._intake.resume(map(self._place, partitions) if partitions else self.assignment)

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions that it reads."""
        return sorted(self._intake.assigned)

    @property
    def position(self) -> dict[TopicPartition, int]:
        """The offset after the last event handed out, of each partition that had one."""
        return self._intake.progress.positions()

    @property
    def lag(self) -> dict[TopicPartition, int | None]:
        """How many offsets are left to read, as of the last fetch; None where there was none."""
        positions = self.position
        return {place: self._lag(place, positions.get(place)) for place in self.assignment}

    @property
    def reached(self) -> dict[TopicPartition, int]:
        """With until="end": the offset below which all of a partition has been read."""
        return dict(self._intake.progress.reached)

    def ends(self) -> dict[TopicPartition, int]:
        """The offset of each partition that will be written next: this asks the cluster.

        Not while another thread iterates: librdkafka's consumer serves one at a time.
        """
        return self._intake.ends()

    def go_on(self) -> None:
        """The next iteration does not end at the end."""
        self._until_end = False

    def stop(self) -> None:
        """End the iteration before its next event; from any thread, or a signal handler."""
        self._is_stopped = True
        self._intake.look_at = 0.0

    def close(self) -> Any:
        """Commit what is finished with, and leave the group."""
        return self._either(self._close)

    def __enter__(self) -> "Consumer":
        self._require_open()
        self._is_entered = True
        self._intake.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(kind)

    async def __aenter__(self) -> "Consumer":
        self._require_open()
        self._is_entered = True
        await self._in_thread(self._intake.begin)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.shield(self._in_thread(self._leave, kind))
        self._end_thread()

    def __del__(self) -> None:
        # A loop that was left without a `with`: the group should not wait for us.
        if not getattr(self, "_is_closed", True) and not sys.is_finalizing():
            self._leave(GeneratorExit)
            self._end_thread()

    def __repr__(self) -> str:
        who = f" in group {self.group}" if self.group else ""
        parts = [f"{self._intake.taken - len(self._intake.buffer)} events"]
        parts += [f"{place} at {offset}" for place, offset in sorted(self.position.items())]
        if self._is_closed:
            parts.append("closed")
        if self._intake.last_error:
            parts.append(f"last error: {self._intake.last_error}")
        return f"<Consumer of {', '.join(self.topics)}{who}: {', '.join(parts)}>"

    def _no_event(self, item: Any) -> None:
        """What stood in an event's place."""
        if not isinstance(item, DecodeEventError):
            self._intake.note(item)
            return
        # Finished with, as an event is, when the next is asked for.
        self._intake.progress.hand_out(item.event)
        if self._on_error == "raise" and self._letters is None:
            raise item
        if callable(self._on_error):
            self._on_error(item)

    def _put_aside(self, item: Any) -> None:
        """Before it is passed over: what cannot be decoded becomes a dead letter, if wanted."""
        if self._letters is not None and isinstance(item, DecodeEventError):
            self._letters.put(item)

    def _step(self) -> bool:
        """False: the iteration is over."""
        if self._is_stopped:
            self._is_stopped = False
            self._intake.progress.settle()
            return False
        self._intake.step(SLICE_S)
        if self._intake.buffer:
            self._waiting_since = None
            return True
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        waited_s = time.monotonic() - self._waiting_since
        is_quiet = self._timeout is not None and waited_s >= self._timeout
        is_at_end = self._until_end and self._intake.progress.is_at_end
        return not (is_quiet or is_at_end)

    def _end(self) -> None:
        """The iteration has come to its end: all that it handed out is finished with."""
        self._waiting_since = None
        if self._is_entered:
            self._intake.commit_finished()
        else:
            self._close()

    def _close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            if self._letters is not None:
                self._letters.close()
            close(*self._forms)
            self._intake.close()

    def _leave(self, kind: type[BaseException] | None) -> None:
        try:
            self._close()
        except KafkaError as error:
            if kind is None:
                raise
            warn(str(error))

    def _require_open(self) -> None:
        if self._is_closed:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the consumer is closed: make a new one")

    def _place(self, partition: int | TopicPartition) -> TopicPartition:
        if not isinstance(partition, int):
            return TopicPartition(*partition)
        if len(self.topics) != 1:
            raise ValueError("several topics are read: give (topic, partition)")
        return TopicPartition(self.topics[0], partition)

    def _lag(self, place: TopicPartition, position: int | None) -> int | None:
        high = self._intake.high_watermark(place)
        return None if high is None or position is None else max(0, high - position)

    def _either(self, call: Callable[..., None], *arguments: Any) -> Any:
        if self._executor is not None:
            return self._in_thread(call, *arguments)
        call(*arguments)
        return None

    def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "kafkaesque consumer")
        return asyncio.get_running_loop().run_in_executor(self._executor, call, *arguments)

    def _end_thread(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False)


def _check(start: Start, until: Any, commit: Any, on_error: Any) -> None:
    check_start(start)
    if until not in (None, "end"):
        raise ValueError(f"until={until!r}: it is 'end', or left out")
    if commit not in ("auto", "explicit"):
        raise ValueError(f"commit={commit!r} is neither 'auto' nor 'explicit'")
    if on_error not in ("raise", "skip") and not callable(on_error):
        raise ValueError(f"on_error={on_error!r} is neither 'raise' nor 'skip' nor a function")
