"""A cure of a defect that the broker once had, and how to take it back for the time of a run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Change:
    """`owner.name` is `value` while the cure is taken back; `owner` is a class or a module.

    The attribute has to be there, or a cure whose code has moved would be taken back in vain.
    """

    owner: Any
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Cure:
    """`changes`: what takes it back, made when it is wanted. `shows`: a pattern of what the
    simulation has to say of a broker without it.
    """

    name: str
    shows: str
    changes: Callable[[], list[Change]]


@contextmanager
def without(cure: Cure) -> Iterator[None]:
    """The broker as it was before this cure. Processes that are forked meanwhile have it so too."""
    changes = cure.changes()
    before = [(change.owner, change.name, _attribute(change)) for change in changes]
    for change in changes:
        setattr(change.owner, change.name, change.value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


def _attribute(change: Change) -> Any:
    value = vars(change.owner).get(change.name, _MISSING)
    if value is _MISSING:
        raise AttributeError(f"{change.owner} has no {change.name} of its own: has it moved?")
    return value
