"""`App`: declare handlers with a decorator, and run them.

    app = App("127.0.0.1:9092")

    @app.handle("orders", group="billing")
    def bill(event: Event) -> None: ...

Every event is handled at least once: its offset is committed when the handler has returned (or
acknowledged it) and everything before it in its partition is done too. Handlers of one group share
a consumer; each group has a thread that polls. Handlers that are plain functions run in threads,
`async def` ones on the loop that `serve` runs on. Above: cli/run.py. Below: member.py, checks.py.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from kafkaesque.client.app.backoff import Backoff
from kafkaesque.client.app.checks import check
from kafkaesque.client.app.dead_letters import DeadLetters
from kafkaesque.client.app.handlers import (
    Handler,
    HandlerError,
    OnFailure,
    check_options,
    dead_letter_topic,
    is_async,
    takes_ack,
)
from kafkaesque.client.app.member import Member
from kafkaesque.client.app.status import PartitionStatus
from kafkaesque.client.app.workers import Workers
from kafkaesque.client.connection import Connection
from kafkaesque.client.profiles import DEFAULT_BROKERS, connection_of
from kafkaesque.client.schema_forms.forms import close, forms
from kafkaesque.client.schema_forms.options import SchemaOptions
from kafkaesque.client.serde import Form
from kafkaesque.client.starts import Start

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_CONCURRENCY = 8
_log = logging.getLogger("kafkaesque.app")


class App:
    """`settings` are librdkafka's, for every group's consumer: {"session.timeout.ms": 10000}."""

    def __init__(
        self,
        brokers: str | Connection = DEFAULT_BROKERS,
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        commit_interval_s: float = 1.0,
        grace_s: float = 10.0,
        settings: Mapping[str, Any] | None = None,
        registry: "str | RegistryClient | None" = None,
    ) -> None:
        """`concurrency` is how many plain functions may run at the same time; `grace_s` how long
        what is being handled may take when a partition moves or the app stops."""
        self.registry = registry
        self.connection = connection_of(brokers)
        self.concurrency = concurrency
        self.commit_interval_s = commit_interval_s
        self.grace_s = grace_s
        self.settings = dict(settings or {})
        self.handlers: list[Handler] = []
        self._members: list[Member] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._is_told_to_stop = False

    def handle(
        self,
        topic: str,
        *,
        group: str,
        start: Start = "earliest",
        key: Form = "bytes",
        value: Form = "bytes",
        schema: Any = None,
        key_schema: Any = None,
        batch: int | None = None,
        batch_wait_s: float = 0.1,
        retries: int = 3,
        backoff_s: float = 0.5,
        backoff_max_s: float = 30.0,
        on_failure: OnFailure = "dead-letter",
        dead_letter: str = "{topic}.dead",
        buffer: int | None = None,
    ) -> Callable[[F], F]:
        """Declare a handler; the function stays as it is. Raises HandlerError at once."""

        def declare(function: F) -> F:
            with_ack = takes_ack(function, batch)
            key_form, value_form = forms(
                key, value, SchemaOptions(schema, key_schema, self.registry)
            )
            handler = Handler(
                function=function,
                topic=topic,
                group=group,
                start=start,
                key=key_form,
                value=value_form,
                batch=batch,
                batch_wait_s=batch_wait_s,
                retries=retries,
                backoff=Backoff(backoff_s, backoff_max_s),
                on_failure=on_failure,
                dead_letter=""
                if on_failure == "stop"
                else dead_letter_topic(dead_letter, topic, group),
                buffer=max(5000, 2 * (batch or 1)) if buffer is None else buffer,
                is_async=is_async(function),
                takes_ack=with_ack,
            )
            check_options(handler)
            self._add(handler)
            return function

        return declare

    def check(self) -> None:
        """See that there are handlers, and that the cluster has what they need: checks.py."""
        check(self.handlers, self.connection)

    def run(self, brokers: str | Connection | None = None) -> None:
        """`serve` until Ctrl-C, SIGTERM or `stop`; a second signal ends it at once."""
        asyncio.run(self._run(brokers))

    @contextmanager
    def running(self, brokers: str | Connection | None = None) -> "Iterator[App]":
        """`run` in a thread while the `with` lasts, as tests need it. Raises what it raised."""
        errors: list[BaseException] = []

        def run() -> None:
            try:
                self.run(brokers)
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run, name="kafkaesque-app")
        thread.start()
        try:
            yield self
        finally:
            if thread.is_alive():
                self.stop()
            thread.join()
            self._is_told_to_stop = False
            if errors:
                raise errors[0]

    async def serve(self, brokers: str | Connection | None = None) -> None:
        """Handle events until `stop`. Before it returns all that is done is committed."""
        if self._loop is not None:
            raise RuntimeError("the app is running already")
        if brokers is not None:
            self.connection = connection_of(brokers)
        await asyncio.to_thread(self.check)
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        if self._is_told_to_stop:
            self._stopping.set()
        workers = Workers(self.concurrency, "kafkaesque-handler")
        letters = DeadLetters(self.connection)
        try:
            try:
                self._members = self._joining(workers, letters)
            except ValueError as error:
                raise HandlerError(f"settings= of the app: {error}") from None
            await self._attend([_in_thread(member, self._loop) for member in self._members])
        finally:
            workers.end()
            letters.close()
            close(*(form for handler in self.handlers for form in (handler.key, handler.value)))
            self._members, self._loop, self._stopping = [], None, None
            self._is_told_to_stop = False

    def stop(self) -> None:
        """Finish what is being handled, commit, and leave the groups. From any thread."""
        self._is_told_to_stop = True
        loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None:
            with suppress(RuntimeError):  # It has just ended by itself.
                loop.call_soon_threadsafe(stopping.set)

    @property
    def status(self) -> list[PartitionStatus]:
        """How each partition that this app has stands."""
        return [status for member in list(self._members) for status in member.status]

    def __repr__(self) -> str:
        state = "running" if self._members else "not running"
        names = ", ".join(handler.name for handler in self.handlers) or "no handlers"
        first = f"<App {self.connection.bootstrap_servers}: {names}; {state}"
        return "\n  ".join([first, *map(str, self.status)]) + ">"

    def _add(self, handler: Handler) -> None:
        for other in self.handlers:
            if (other.topic, other.group) == (handler.topic, handler.group):
                raise HandlerError(
                    f"handler {handler.name}: topic {handler.topic} has handler {other.name} in "
                    f"group {handler.group} already: give one of them another group"
                )
        self.handlers.append(handler)

    def _joining(self, workers: Workers, letters: DeadLetters) -> list[Member]:
        assert self._loop is not None
        groups: dict[str, dict[str, Handler]] = {}
        for handler in self.handlers:
            groups.setdefault(handler.group, {})[handler.topic] = handler
            _log.info("group %s: %s is for topic %s", handler.group, handler.name, handler.topic)
        return [
            Member(
                group,
                handlers,
                self.connection,
                self.settings,
                loop=self._loop,
                workers=workers,
                dead_letters=letters,
                commit_interval_s=self.commit_interval_s,
                grace_s=self.grace_s,
            )
            for group, handlers in groups.items()
        ]

    async def _attend(self, ends: "list[asyncio.Future[None]]") -> None:
        """Wait until `stop`, or until a member fails; then see all of them out."""
        assert self._stopping is not None
        stopped: asyncio.Future[Any] = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait([stopped, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            for member in self._members:
                member.stop()
            # Even if we are cancelled: nobody else would commit and leave the groups.
            await asyncio.shield(asyncio.wait(ends))
        for end in ends:
            end.result()

    async def _run(self, brokers: str | Connection | None) -> None:
        with _signals(self.stop):
            await self.serve(brokers)


def _in_thread(member: Member, loop: asyncio.AbstractEventLoop) -> "asyncio.Future[None]":
    end: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        try:
            member.run()
        except BaseException as error:
            tell(end.set_exception, error)
        else:
            tell(end.set_result, None)

    def tell(call: Callable[[Any], None], outcome: BaseException | None) -> None:
        with suppress(RuntimeError):  # A second signal has ended the loop: nobody waits.
            loop.call_soon_threadsafe(call, outcome)

    threading.Thread(target=run, name=f"kafkaesque-group-{member.group}", daemon=True).start()
    return end


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM asks to stop, a second one ends as if nobody listened."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        stop()
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, ask)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
