"""What a micro-benchmark is: a name, and an operation that is made ready afresh for each run."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

Operation = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Case:
    """`prepare` is entered before each run and left after it: what the runs write does not add
    up.
    """

    name: str
    prepare: Callable[[], AbstractAsyncContextManager[Operation]]
