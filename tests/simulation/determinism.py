"""What else has to stand still for one seed to be one history: chance, real time, hash order.

Sets are iterated in an order that depends on addresses or on PYTHONHASHSEED. Where the broker does
that, any order is right, and here it is that of insertion: `set` in those modules is ours for the
time of a run. The thresholds of the metadata log are lowered, so that it is shortened often, and
producer ids are reserved a few at a time.
"""

import gc
import itertools
import os
import random
from collections.abc import Iterable, Iterator, MutableSet
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeVar

from kafkaesque.broker.turn import Turn

T = TypeVar("T")

_SPENT = 0.05
_WITH_SETS = (
    "broker.apis.fetch",
    "broker.broker",
    "broker.connection",
    "broker.partition",
    "broker.server",
    "broker.storage",
    "log.disk",
)
_CLOCK_STEP_SECONDS = 0.0004
_SMALL_BYTES = 2_000
_GROWTH = 2
_PRODUCER_IDS_BLOCK = 2
_COLLECTED_EVERY = 20


class OrderedSet(MutableSet[T]):
    """A set that is iterated in the order of insertion."""

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = dict.fromkeys(items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items))

    def add(self, value: T) -> None:
        self._items[value] = None

    def discard(self, value: T) -> None:
        self._items.pop(value, None)

    def update(self, items: Iterable[T]) -> None:
        self._items.update(dict.fromkeys(items))

    def difference_update(self, items: Iterable[T]) -> None:
        for item in items:
            self.discard(item)


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """All of it, for the time of one run."""
    state = random.getstate()
    with replaced(_replacements(seed)):
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(state)


@contextmanager
def collecting_nothing(seed: int) -> Iterator[None]:
    """The collector runs when the run says so, and looks at what the run has made alone."""
    was_collecting = gc.isenabled()
    gc.disable()
    if seed % _COLLECTED_EVERY == 0:
        # Earlier runs are frozen in the next, and nobody else would collect them in between.
        gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_collecting:
            gc.enable()


class HastyTurn(Turn):
    """Virtual time stands still while something is read: so chance says when it has taken long."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    def is_spent(self, began: float, now: float, nbytes: int = 0, *, is_whole: bool = True) -> bool:
        return self._chance.random() < _SPENT


def _replacements(seed: int) -> list[tuple[Any, str, Any]]:
    ticks = itertools.count()

    def clock() -> float:
        return next(ticks) * _CLOCK_STEP_SECONDS

    def module(name: str) -> Any:
        return import_module(f"kafkaesque.{name}")

    return [
        *((module(name), "set", OrderedSet) for name in _WITH_SETS),
        (os, "urandom", random.Random(f"{seed} urandom").randbytes),
        (module("broker.partition"), "perf_counter", clock),
        (module("broker.broker"), "Slices", partial(module("broker.slices").Slices, clock)),
        (module("broker.compactors"), "time", SimpleNamespace(perf_counter=clock)),
        (module("broker.connection"), "_numbers", itertools.count(1)),
        (module("broker.broker"), "Turn", partial(HastyTurn, random.Random(f"{seed} turns"))),
        (module("broker.state_log"), "_SMALL_BYTES", _SMALL_BYTES),
        (module("broker.state_log"), "_GROWTH", _GROWTH),
        (module("broker.metadata"), "_PRODUCER_IDS_BLOCK", _PRODUCER_IDS_BLOCK),
    ]


_MISSING = object()


@contextmanager
def replaced(replacements: list[tuple[Any, str, Any]]) -> Iterator[None]:
    before = [(where, name, vars(where).get(name, _MISSING)) for where, name, _ in replacements]
    for where, name, value in replacements:
        setattr(where, name, value)
    try:
        yield
    finally:
        for where, name, value in before:
            if value is _MISSING:
                delattr(where, name)
            else:
                setattr(where, name, value)
