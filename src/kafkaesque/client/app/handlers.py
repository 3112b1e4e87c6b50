"""What a handler is: a function, the topic and group it is for, and what to do when it fails.

A handler takes one event, or with `batch` a list of them; a second parameter named `ack` means that
it acknowledges events itself. Both kinds may be `async def`. All of it is checked when the handler
is declared, so that a slip is told at once and not at the first event.
Above: app.py, lane.py, checks.py. Below: ../serde.py.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from kafkaesque.client.app.backoff import Backoff
from kafkaesque.client.serde import Serde
from kafkaesque.client.starts import Start, check_start
from kafkaesque.event import Event

OnFailure: TypeAlias = Literal["dead-letter", "stop"]

ACK = "ack"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class HandlerError(ValueError):
    """A handler that cannot work as it was declared; the message names the cause and the cure."""


@dataclass(frozen=True, slots=True)
class Handler:
    function: Callable[..., Any]
    topic: str
    group: str
    start: Start
    key: Serde
    value: Serde
    batch: int | None
    batch_wait_s: float
    retries: int
    backoff: Backoff
    on_failure: OnFailure
    dead_letter: str
    """The name of a topic; empty with `on_failure="stop"`."""
    buffer: int
    """How many events of a partition may be here and not done."""
    is_async: bool
    takes_ack: bool

    @property
    def name(self) -> str:
        return name_of(self.function)

    def __str__(self) -> str:
        return f"{self.name} (topic {self.topic}, group {self.group})"


def name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__qualname__", None) or repr(function))


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 An object with `async def __call__`.
    )


def takes_ack(function: Callable[..., Any], batch: int | None) -> bool:
    """Whether it acknowledges events itself. Raises HandlerError if it cannot be called."""
    if not callable(function):
        raise HandlerError(f"{function!r} is no function: put @app.handle(…) above a def")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise _wrong(function, "yields, and so would do nothing", batch)
    parameters = list(inspect.signature(function).parameters.values())
    needed = [it for it in parameters if it.default is it.empty and it.kind in _POSITIONAL]
    named = [it for it in parameters if it.kind is it.KEYWORD_ONLY and it.default is it.empty]
    if named:
        raise _wrong(function, f"needs {named[0].name}=, which nobody gives it", batch)
    if len(needed) > 2:
        raise _wrong(function, f"takes {len(needed)} parameters", batch)
    if len(needed) == 2 and needed[1].name != ACK:
        raise _wrong(function, f"takes a second parameter {needed[1].name!r}", batch)
    if not any(it.kind in (*_POSITIONAL, it.VAR_POSITIONAL) for it in parameters):
        raise _wrong(function, "takes no event", batch)
    _check_annotation(function, parameters[0].name, batch)
    return len(needed) == 2


def _check_annotation(function: Callable[..., Any], parameter: str, batch: int | None) -> None:
    """`list[Event]` without `batch`, or `Event` with it, is a slip."""
    try:
        hint = typing.get_type_hints(function).get(parameter)
    except (NameError, TypeError, AttributeError):  # Not known at run time: no matter.
        return
    origin = typing.get_origin(hint) or hint
    is_list = isinstance(origin, type) and issubclass(origin, Sequence) and origin is not str
    if is_list and batch is None:
        raise _wrong(function, "takes a list, but is given one event at a time", batch)
    if origin is Event and batch is not None:
        raise _wrong(function, "takes one event, but is given a list with batch=", batch)


def _wrong(function: Callable[..., Any], why: str, batch: int | None) -> HandlerError:
    name, what = getattr(function, "__name__", "handler"), "event" if batch is None else "events"
    more = "" if batch is None else "; for one event at a time leave out batch="
    if batch is None and "list" in why:
        more = "; for lists give batch=100"
    return HandlerError(
        f"handler {name_of(function)} {why}: write `def {name}({what})`, or "
        f"`def {name}({what}, ack)` to acknowledge by yourself{more}"
    )


def check_options(handler: Handler) -> None:
    """Raises HandlerError."""
    problems = {
        "group is empty: name the group whose place is kept": not handler.group,
        "topic is empty: name the topic whose events it takes": not handler.topic,
        f"on_failure={handler.on_failure!r} is none of 'dead-letter' and 'stop'": (
            handler.on_failure not in get_args(OnFailure)
        ),
        f"batch={handler.batch} must be 1 or more": handler.batch is not None and handler.batch < 1,
        f"batch_wait_s={handler.batch_wait_s} must be 0 or more": handler.batch_wait_s < 0,
        f"retries={handler.retries} must be 0 or more": handler.retries < 0,
        f"backoff_s={handler.backoff.first_s} must be 0 or more": handler.backoff.first_s < 0,
        f"buffer={handler.buffer} must be 1 or more, and batch={handler.batch} at least": (
            handler.buffer < (handler.batch or 1)
        ),
        f"its dead letters would go to {handler.topic}, and come back to it: "
        "name another topic with dead_letter=": handler.dead_letter == handler.topic,
    }
    try:
        check_start(handler.start)
    except ValueError as error:
        problems[str(error)] = True
    for problem, is_so in problems.items():
        if is_so:
            raise HandlerError(f"handler {handler.name}: {problem}")


def dead_letter_topic(template: str, topic: str, group: str) -> str:
    try:
        return template.format(topic=topic, group=group)
    except (KeyError, IndexError, ValueError):
        raise HandlerError(
            f"dead_letter={template!r} is no name of a topic: only {{topic}} and {{group}} may "
            "stand in braces"
        ) from None
