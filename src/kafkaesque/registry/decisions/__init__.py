"""What follows from a request, given the catalog: an answer, and the changes to be written.

Pure, so that a decision can be made again when another registry has been faster.
Above: journal.py, routes/. Below: catalog.py, compatibility.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.changes import Change


class Decision(NamedTuple):
    answer: Any
    changes: tuple[Change, ...] = ()


Decide: TypeAlias = Callable[[Catalog], Decision]
"""Raises ProblemError."""
