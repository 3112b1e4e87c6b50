"""One topic of a Kafkaesque, read like a list whose items keep their numbers.

Above: the program. Below: kafkaesque.py, which it is a view of.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kafkaesque.embedded.values import Key

if TYPE_CHECKING:
    from kafkaesque.embedded.kafkaesque import Kafkaesque


class Topic:
    """A topic by its name: `k.topic("orders")`. It is made by the first put, if it is not there."""

    def __init__(self, kafkaesque: "Kafkaesque", name: str) -> None:
        self._kafkaesque = kafkaesque
        self.name = name

    @property
    def partitions(self) -> int:
        """How many there are."""
        return self._kafkaesque._partition_count(self.name)

    def put(self, value: Any, *, key: Key = None, partition: int | None = None) -> int:
        return self._kafkaesque.put(self.name, value, key=key, partition=partition)

    def extend(
        self,
        values: Iterable[Any],
        *,
        key: Key | Callable[[Any], Key] = None,
        partition: int | None = None,
    ) -> list[int]:
        return self._kafkaesque.extend(self.name, values, key=key, partition=partition)

    def get(self, n: int, partition: int | None = None) -> Any:
        return self._kafkaesque.get(self.name, n, partition)

    def earliest(self, partition: int | None = None) -> tuple[int, Any]:
        return self._kafkaesque.earliest(self.name, partition)

    def latest(self, partition: int | None = None) -> tuple[int, Any]:
        return self._kafkaesque.latest(self.name, partition)

    def __getitem__(self, at: "int | slice | tuple[int, int | slice]") -> Any:
        """`t[12]`, `t[-1]`, `t[3:6]`; with several partitions `t[2, 12]`: partition 2, offset 12.

        A slice is of offsets, and takes what is there of it.
        """
        partition, n = at if isinstance(at, tuple) else (None, at)
        if isinstance(n, slice):
            return self._slice(n, partition)
        return self.get(n, partition)

    def __len__(self) -> int:
        """How many events it holds now."""
        return sum(span.end - span.start for span in self._spans())

    def __iter__(self) -> Iterator[Any]:
        """The values that it holds now, oldest first, one partition after the other."""
        for span in self._spans():
            yield from self._values(span.start, span.end, span.name.partition)

    def __repr__(self) -> str:
        return f"<Topic {self.name}: {self._kafkaesque._shown_partitions(self.name)}>"

    def _slice(self, wanted: slice, partition: int | None) -> list[Any]:
        if wanted.step not in (None, 1):
            raise ValueError(f"a slice of a topic has no step: {wanted.step}")
        span = self._kafkaesque._span(self.name, partition)
        start = _bound(wanted.start, span.start, span.end)
        stop = _bound(wanted.stop, span.end, span.end)
        return list(self._values(max(start, span.start), min(stop, span.end), span.name.partition))

    def _values(self, start: int, end: int, partition: int) -> Iterator[Any]:
        while start < end:
            events = self._kafkaesque._events(self.name, start, end, partition)
            if not events:
                return
            for event in events:
                yield event.value
            start = events[-1].offset + 1

    def _spans(self) -> Any:
        return self._kafkaesque._spans(self.name)


def describe_span(start: int, end: int) -> str:
    """The offsets from `start` to before `end`, for a repr."""
    if start == end:
        return f"empty, next {end}"
    return f"offset {start}" if end - start == 1 else f"offsets {start}-{end - 1}"


def _bound(given: int | None, default: int, end: int) -> int:
    if given is None:
        return default
    return given if given >= 0 else end + given
