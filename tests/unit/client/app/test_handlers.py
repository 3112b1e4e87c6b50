"""Handlers are checked when they are declared: kinds, options, and two for the same events."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from kafkaesque.client.app import Ack, App, HandlerError
from kafkaesque.event import Event


def plain(event: Event) -> None: ...
def with_ack(event: Event, ack: Ack) -> None: ...
async def asynchronous(event: Event) -> None: ...
async def asynchronous_with_ack(event: Event, ack: Ack) -> None: ...
def with_default(event: Any, retry: bool = False) -> None: ...
def with_anything(*events: Any, **options: Any) -> None: ...
def of_unknown(event: "Unknown") -> None: ...  # type: ignore[name-defined]  # noqa: F821


class Callables:
    def method(self, event: Event) -> None: ...
    async def __call__(self, event: Event, ack: Ack) -> None: ...


def nothing() -> None: ...
def three(event: Any, ack: Ack, more: Any) -> None: ...
def two(event: Any, acknowledge: Ack) -> None: ...
def keyword(event: Any, *, ack: Ack) -> None: ...
def generator(event: Any) -> Any:
    yield


async def async_generator(event: Any) -> Any:
    yield


def a_list(events: list[Event]) -> None: ...


@pytest.mark.parametrize(
    ("function", "is_async", "takes_ack"),
    [
        (plain, False, False),
        (with_ack, False, True),
        (asynchronous, True, False),
        (asynchronous_with_ack, True, True),
        (with_default, False, False),
        (with_anything, False, False),
        (of_unknown, False, False),
        (lambda event: None, False, False),
        (functools.partial(asynchronous_with_ack), True, True),
        (functools.partial(three, more=1), False, True),
        (Callables().method, False, False),
        (Callables(), True, True),
    ],
)
def test_kinds_are_told_by_the_signature(
    function: Callable[..., Any], is_async: bool, takes_ack: bool
) -> None:
    app = App()
    assert app.handle("orders", group="billing")(function) is function
    (handler,) = app.handlers
    assert (handler.is_async, handler.takes_ack) == (is_async, takes_ack)


@pytest.mark.parametrize(
    ("function", "options", "complaint"),
    [
        (nothing, {}, r"nothing takes no event: write `def nothing\(event\)`"),
        (three, {}, "takes 3 parameters"),
        (two, {}, "takes a second parameter 'acknowledge'"),
        (keyword, {}, "needs ack=, which nobody gives it"),
        (generator, {}, "yields, and so would do nothing"),
        (async_generator, {}, "yields"),
        (a_list, {}, "for lists give batch=100"),
        (plain, {"batch": 10}, "one event, but is given a list .* leave out batch="),
        (17, {}, "17 is no function"),
        (a_list, {"batch": 0}, "batch=0 must be 1 or more"),
        (plain, {"retries": -1}, "retries=-1 must be 0 or more"),
        (plain, {"backoff_s": -1}, "backoff_s=-1 must be 0 or more"),
        (plain, {"start": "newest"}, "start='newest' is neither"),
        (plain, {"start": -5}, "start=-5: an offset is 0 or more"),
        (plain, {"on_failure": "crash"}, "on_failure='crash' is none of"),
        (plain, {"dead_letter": "orders"}, "would go to orders, and come back"),
        (plain, {"dead_letter": "{tpoic}.dead"}, "is no name of a topic"),
        (a_list, {"batch": 10, "buffer": 5}, "buffer=5 must be 1 or more, and batch=10 at least"),
    ],
)
def test_what_cannot_work_is_told_at_once(
    function: Any, options: dict[str, Any], complaint: str
) -> None:
    app = App()
    with pytest.raises(HandlerError, match=complaint):
        app.handle("orders", group="billing", **options)(function)
    assert app.handlers == []


def test_an_unknown_form_of_values_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="xml"):
        App().handle("orders", group="billing", value="xml")(plain)


def test_one_handler_for_the_events_of_a_topic_in_a_group() -> None:
    app = App()
    app.handle("orders", group="billing")(plain)
    app.handle("orders", group="shipping")(plain)
    app.handle("returns", group="billing")(plain)
    with pytest.raises(HandlerError, match="has handler plain in group billing already"):
        app.handle("orders", group="billing")(asynchronous)
    assert len(app.handlers) == 3


def test_the_dead_letters_topic_is_named_after_topic_and_group() -> None:
    app = App()
    app.handle("orders", group="billing")(plain)
    app.handle("orders", group="shipping", dead_letter="{group}.{topic}.failed")(plain)
    app.handle("orders", group="audit", on_failure="stop")(plain)
    names = [handler.dead_letter for handler in app.handlers]
    assert names == ["orders.dead", "shipping.orders.failed", ""]


def test_the_repr_names_the_handlers() -> None:
    app = App("example.org:9092")
    assert repr(app) == "<App example.org:9092: no handlers; not running>"
    app.handle("orders", group="billing")(plain)
    assert repr(app) == "<App example.org:9092: plain; not running>"
    assert app.status == []


def test_an_ack_takes_only_what_it_came_with() -> None:
    events = [Event("orders", 0, offset, 0, None, b"") for offset in range(3)]
    done: list[int] = []
    ack = Ack(events[:2], done.append, lambda offset, error: None)
    ack(events[1])
    ack()
    assert done == [1, 0, 1]
    assert repr(ack) == "<Ack orders/0@0 and 1 more>"
    with pytest.raises(ValueError, match="orders/0@2 is not what"):
        ack(events[2])
