"""One fault: what it does, which requests it strikes, how often it struck.

The test holds it and may remove it at any time; the broker's loop asks `add_to` of each request of
its API. Faults.py shares one lock among the faults of a broker, and holds it around `add_to`.
Above: faults.py. Below: refusals.py, subjects.py.
"""

import asyncio
import random
import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from kafkaesque.broker.apis import Context
from kafkaesque.errors import ErrorCode
from kafkaesque.testing.refusals import refusal, refuses_parts, says
from kafkaesque.testing.subjects import leaves_out_topics, split


@dataclass(frozen=True, slots=True)
class Delay:
    """The request is carried out, and its answer held back."""

    seconds: float

    def __str__(self) -> str:
        return f"is answered {self.seconds:g} s late"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The request is answered with an error, and not carried out."""

    code: ErrorCode

    def __str__(self) -> str:
        return f"is refused with {self.code.name}"


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection closes without an answer, before the request is carried out or `after`."""

    after: bool

    def __str__(self) -> str:
        return "is carried out and not answered" if self.after else "is not answered"


@dataclass(frozen=True, slots=True)
class Condition:
    """Which requests a fault strikes: None and 1.0 leave the choice open."""

    topic: str | None
    client_id: str | None
    times: int | None
    probability: float
    seed: int | None


@dataclass(slots=True)
class Strike:
    """What befalls one request: how long its answer is held, and what else happens."""

    delays: "list[Fault]" = field(default_factory=list)
    drop: Drop | None = None
    refused: Any = None
    rest: Any = None
    """The part of the request that is carried out beside the refusal."""

    @property
    def is_settled(self) -> bool:
        """Whether only delays may still be added."""
        return self.drop is not None or self.refused is not None


class Fault:
    """What `Faults` returns: a count, a way to remove it, and a context that does so at its end."""

    def __init__(
        self, api: str, act: Delay | Refuse | Drop, condition: Condition, lock: threading.Lock
    ) -> None:
        self.api = api
        self.act = act
        self.is_removed = False
        self._condition = condition
        self._lock = lock
        self._random = random.Random(condition.seed)
        self._count = 0
        self._held: set[asyncio.Future[None]] = set()

    @property
    def count(self) -> int:
        """How many requests it has struck."""
        return self._count

    def remove(self) -> None:
        """Strike no more. Answers that are held back go out now."""
        with self._lock:
            self.is_removed = True
            for held in self._held:
                held.get_loop().call_soon_threadsafe(_let_go, held)
            self._held.clear()

    def __enter__(self) -> "Fault":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Fault: {self.api} {self.act}; struck {self.count} times>"

    def add_to(self, strike: Strike, context: Context, request: Any) -> None:
        """Add to what befalls a request, if that is one to strike."""
        wanted = self._condition
        is_over = self._count == wanted.times
        is_late = strike.is_settled and not isinstance(self.act, Delay)
        if is_over or is_late or wanted.client_id not in (None, context.header.client_id):
            return
        if leaves_out_topics(request) and self._asks_for_topics(context):
            # The client then begins another session, and names the topics.
            strike.refused = refusal(context, request, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return
        meant, rest = split(context, request, wanted.topic)
        if meant is not None and self._random.random() < wanted.probability:
            self._count += self._act_on(strike, context, meant, rest)

    def _asks_for_topics(self, context: Context) -> bool:
        if self._condition.topic is not None:
            return True
        return isinstance(self.act, Refuse) and refuses_parts(context, self.act.code)

    def _act_on(self, strike: Strike, context: Context, meant: Any, rest: Any) -> bool:
        """Whether there was something to do: an error may have no place in this request."""
        if isinstance(self.act, Delay):
            strike.delays.append(self)
        elif isinstance(self.act, Drop):
            strike.drop = self.act
        else:
            refused = refusal(context, meant, self.act.code)
            if not says(refused, context.version, self.act.code):
                return False
            strike.refused = refused
            # An error of the whole is not about a topic: nothing of the request is carried out.
            strike.rest = rest if refuses_parts(context, self.act.code) else None
        return True

    async def hold(self) -> None:
        """Wait for the time of a delay, or until it is removed."""
        assert isinstance(self.act, Delay)
        held = asyncio.get_running_loop().create_future()
        with self._lock:
            if self.is_removed:
                return
            self._held.add(held)
        try:
            await asyncio.wait([held], timeout=self.act.seconds)
        finally:
            with self._lock:
                self._held.discard(held)


def _let_go(held: "asyncio.Future[None]") -> None:
    if not held.done():
        held.set_result(None)
