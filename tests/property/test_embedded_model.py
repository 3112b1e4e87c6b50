"""`Kafkaesque` against lists: whatever is put, read, committed and dropped, both agree.

The model keeps every event ever put and the offset that its partition begins with.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafkaesque import Kafkaesque
from kafkaesque.embedded.events import OffsetOutOfRangeError
from kafkaesque.records.murmur2 import partition_for_key

PARTITIONS = 2
VALUES = st.one_of(
    st.none(), st.integers(), st.text(max_size=3), st.binary(max_size=3), st.lists(st.booleans())
)
KEYS = st.sampled_from(["a", "b", "c", "d"])
NUMBERS = st.integers(-15, 40)
WHERE = st.integers(0, PARTITIONS - 1)


class Model:
    """One partition: all its events, the first offset that is still there, and positions."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.start = 0
        self.positions: dict[str, int] = {}

    def bound(self, max_events: int, drop: int) -> None:
        while len(self.events) - self.start > max_events:
            self.start += drop

    def get(self, n: int) -> Any:
        offset = n if n >= 0 else len(self.events) + n
        if not self.start <= offset < len(self.events):
            raise IndexError(n)
        return self.events[offset]


class Machine(RuleBasedStateMachine):
    """In memory or on disk, bounded or not; on disk it is closed and opened again at times."""

    @initialize(
        on_disk=st.booleans(),
        bound=st.none() | st.tuples(st.integers(3, 8), st.integers(1, 3)),
        suffix=st.sampled_from([".csv", ".sqlite"]),
    )
    def begin(self, on_disk: bool, bound: tuple[int, int] | None, suffix: str) -> None:
        self.directory = tempfile.TemporaryDirectory()
        home = Path(self.directory.name)
        self.bound = bound
        self.options: dict[str, Any] = {"partitions": PARTITIONS}
        if bound:
            self.options |= {"max_events": bound[0], "drop": bound[1], "stale": home / f"x{suffix}"}
        self.data = home / "data" if on_disk else None
        self.k = Kafkaesque(self.data, **self.options)
        self.k.create("t")
        self.models = [Model() for _ in range(PARTITIONS)]

    def _append(self, model: Model, values: list[Any]) -> list[int]:
        first = len(model.events)
        model.events += values
        if self.bound:
            model.bound(*self.bound)
        return list(range(first, len(model.events)))

    @rule(value=VALUES, key=KEYS)
    def put(self, value: Any, key: str) -> None:
        model = self.models[partition_for_key(key.encode(), PARTITIONS)]
        assert [self.k.put("t", value, key=key)] == self._append(model, [value])

    @rule(values=st.lists(VALUES, max_size=12), where=WHERE)
    def extend(self, values: list[Any], where: int) -> None:
        offsets = self.k.extend("t", values, partition=where)
        assert offsets == self._append(self.models[where], values)

    @rule(n=NUMBERS, where=WHERE)
    def get(self, n: int, where: int) -> None:
        self._same(where, lambda: self.k.get("t", n, where), lambda: self.models[where].get(n))

    @rule(where=WHERE)
    def look_at_the_ends(self, where: int) -> None:
        model = self.models[where]
        last = len(model.events) - 1
        self._same(
            where,
            lambda: self.k.earliest("t", where),
            lambda: (model.start, model.get(model.start)),
        )
        self._same(where, lambda: self.k.latest("t", where), lambda: (last, model.get(-1)))

    def _same(self, where: int, ask: Callable[[], Any], expect: Callable[[], Any]) -> None:
        try:
            expected = expect()
        except IndexError:
            with pytest.raises(OffsetOutOfRangeError) as error:
                ask()
            assert error.value.earliest == self.models[where].start
        else:
            assert ask() == expected

    @rule(consumer=KEYS, offset=st.integers(0, 40), where=WHERE)
    def commit(self, consumer: str, offset: int, where: int) -> None:
        self.k.commit(consumer, "t", offset, where)
        self.models[where].positions[consumer] = offset

    @rule(consumer=KEYS, where=WHERE)
    def committed(self, consumer: str, where: int) -> None:
        expected = self.models[where].positions.get(consumer)
        assert self.k.committed(consumer, "t", where) == expected

    @precondition(lambda self: self.data is not None)
    @rule()
    def close_and_open_again(self) -> None:
        self.k.close()
        self.k = Kafkaesque(self.data, **self.options)

    @invariant()
    def what_is_there_is_what_the_model_has(self) -> None:
        topic = self.k.topic("t")
        for where, model in enumerate(self.models):
            assert topic[where, :] == model.events[model.start :]
        assert len(topic) == sum(len(m.events) - m.start for m in self.models)

    @invariant()
    def what_fell_off_is_on_the_shelf_once(self) -> None:
        if self.bound:
            rows = sorted((row.partition, row.offset) for row in self.k.stale("t"))
            fallen = [(w, n) for w, model in enumerate(self.models) for n in range(model.start)]
            assert rows == fallen

    def teardown(self) -> None:
        if hasattr(self, "k"):
            self.k.close()
            self.directory.cleanup()


TestModel = Machine.TestCase
TestModel.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
