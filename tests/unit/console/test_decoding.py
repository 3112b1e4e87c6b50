"""Records wait for the schemas that they name, in order, and no reader waits for the registry."""

import threading
from collections.abc import Iterable

import pytest

from kafkaesque.client.record import Record
from kafkaesque.client.registry import RegistryAwayError
from kafkaesque.console import decoding
from kafkaesque.console.decoding import Decoding
from kafkaesque.console.schema_reader import schema_id

TIMEOUT_S = 60.0


class SlowReader:
    """Knows the ids that it was asked to learn, as soon as it may answer."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        self.may_answer = threading.Event()
        self.is_away = False

    def missing(self, data: Iterable[bytes | None]) -> set[int]:
        ids = {number for each in data if (number := schema_id(each)) is not None}
        return ids - self.known

    def learn(self, ids: Iterable[int]) -> None:
        assert self.may_answer.wait(TIMEOUT_S)
        if self.is_away:
            raise RegistryAwayError("http://127.0.0.1:1", "refused")
        self.known |= set(ids)


class Screen:
    def __init__(self) -> None:
        self.reader = SlowReader()
        self.offsets: list[int] = []
        self.skipped = 0
        self.told: list[str | None] = []
        self.changed = threading.Condition()
        self.decoding = Decoding(
            self.reader,  # type: ignore[arg-type]
            self._deliver,
            self._skip,
            self.told.append,
        )

    def _deliver(self, records: Iterable[Record]) -> None:
        with self.changed:
            self.offsets += [record.offset for record in records]
            self.changed.notify_all()

    def _skip(self, count: int) -> None:
        self.skipped += count

    def add(self, *offsets: int, schema: int | None = None) -> None:
        value = b"plain" if schema is None else b"\0" + schema.to_bytes(4, "big") + b"x"
        self.decoding.add([Record("t", None, value, offset=offset) for offset in offsets])

    def wait_for(self, *offsets: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.offsets == list(offsets), TIMEOUT_S)


def test_what_names_no_schema_goes_on_at_once() -> None:
    screen = Screen()
    screen.add(0, 1)
    assert screen.offsets == [0, 1]


def test_records_wait_for_their_schema_and_keep_their_order() -> None:
    screen = Screen()
    screen.add(0, schema=7)
    screen.add(1)
    screen.add(2, schema=8)
    assert screen.offsets == []
    screen.reader.may_answer.set()
    screen.wait_for(0, 1, 2)
    assert screen.reader.known == {7, 8}


def test_what_is_dropped_never_comes() -> None:
    screen = Screen()
    screen.add(0, schema=7)
    screen.add(1)
    screen.decoding.drop()
    screen.add(2)
    screen.reader.may_answer.set()
    screen.wait_for(2)


def test_a_registry_that_is_away_is_told_of_and_records_go_on() -> None:
    screen = Screen()
    screen.reader.is_away = True
    screen.reader.may_answer.set()
    screen.add(0, schema=7)
    screen.wait_for(0)
    assert "no schema registry answers" in str(screen.told[0])


def test_what_waits_is_bounded_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_HELD", 3)
    screen = Screen()
    screen.add(0, 1, 2, 3, schema=7)
    screen.add(4, 5)
    screen.reader.may_answer.set()
    with screen.changed:
        assert screen.changed.wait_for(lambda: screen.offsets[-1:] == [5], TIMEOUT_S)
    # The worker has taken some of them, or none, before the rest came.
    assert len(screen.offsets) + screen.skipped == 6
    assert screen.offsets == sorted(screen.offsets)
    assert screen.skipped >= 1


@pytest.mark.parametrize(
    ("data", "number"),
    [(None, None), (b"", None), (b"\0\0\0\0", None), (b"\0\0\0\1\2", 258), (b"\1\0\0\0\1x", None)],
)
def test_a_zero_byte_and_four_more_name_a_schema(data: bytes | None, number: int | None) -> None:
    assert schema_id(data) == number
