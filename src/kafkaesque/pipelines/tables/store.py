"""What a table asks of its database.

Two keep it: sqlite.py and postgres.py. Each has one connection and one table; it is used by one
thread at a time, which is table.py's to see to. All that can go wrong comes out as a TableError.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from kafkaesque.pipelines.tables.batch import Batch
from kafkaesque.pipelines.tables.columns import ColumnType

T = TypeVar("T")


class Store(Protocol):
    """`columns`, `create`, `add` and `write` are for the work that `run` is given."""

    target: str
    """The database as errors name it, without its password."""

    def run(self, work: Callable[[], T]) -> T:
        """All of the work in one transaction, or nothing of it; perhaps more than one attempt."""

    def columns(self) -> dict[str, ColumnType]:
        """Those of the table, in its order, and until the transaction ends; none if there is no
        table."""

    def create(self, key: str, key_type: ColumnType) -> None:
        """The table, unless it is there."""

    def add(self, name: str, column_type: ColumnType) -> None:
        """A column, unless it is there."""

    def write(self, batch: Batch) -> int:
        """Compare and set; the number of rows that changed. The first column is the key."""

    def close(self) -> None:
        """The connection is given back."""
