"""The judges of histories find each kind of anomaly, and nothing in what Kafka allows.

No clients and no broker: each history is written down, its events one tick apart; the lawful ones
of the last tests come from a model of a log with transactions.
"""

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crash.history import (
    Anomaly,
    Append,
    Element,
    End,
    Event,
    Kind,
    Look,
    Open,
    Operation,
    Phase,
    Read,
)
from tests.crash.list_append import list_append_anomalies
from tests.crash.queue_checker import queue_anomalies

INVOKE, OK, FAIL, INFO = Phase.INVOKE, Phase.OK, Phase.FAIL, Phase.INFO
Step = tuple[str, Phase, Operation]


def history(*steps: Step) -> list[Event]:
    return [Event(at, *step) for at, step in enumerate(steps)]


def transaction(
    number: int,
    *values: tuple[int, str],
    process: str = "p",
    commit: bool = True,
    answer: Phase = OK,
    offsets: dict[str, int] | None = None,
) -> list[Step]:
    return [
        (process, INVOKE, Append(number, values)),
        (process, OK, Append(number, values, offsets or {})),
        (process, INVOKE, End(number, commit)),
        (process, answer, End(number, commit)),
    ]


def read(
    key: int, *elements: tuple[int, str], process: str = "r", within: int | None = None
) -> Step:
    return process, OK, Read(key, [Element(*element) for element in elements], within)


def look(**logs: Sequence[tuple[int, str]]) -> Step:
    """Keys are k0, k1."""
    found = {int(key[1:]): [Element(*element) for element in log] for key, log in logs.items()}
    return "last", OK, Look(found)


def kinds(anomalies: Iterable[Anomaly]) -> set[Kind]:
    return {anomaly.kind for anomaly in anomalies}


AB = transaction(1, (0, "a"), (1, "b"))
FOUND = look(k0=[(0, "a")], k1=[(0, "b")])


def test_a_transaction_that_is_found_whole_is_not_complained_about() -> None:
    assert queue_anomalies(history(*AB, read(0, (0, "a")), read(1, (0, "b")), FOUND)) == []


def test_what_an_aborted_transaction_sent_need_not_be_there() -> None:
    assert queue_anomalies(history(*transaction(1, (0, "a"), commit=False), look())) == []


def test_a_commit_in_doubt_may_have_happened_or_not() -> None:
    doubtful = transaction(1, (0, "a"), (1, "b"), answer=INFO)
    assert queue_anomalies(history(*doubtful, FOUND)) == []
    assert queue_anomalies(history(*doubtful, look())) == []
    assert queue_anomalies(history(*doubtful[:-1], FOUND)) == []


def test_a_history_without_a_last_look_is_not_judged() -> None:
    for judge in (queue_anomalies, list_append_anomalies):
        with pytest.raises(ValueError, match="last look"):
            judge(history(*AB))


def test_a_committed_transaction_that_is_not_there_is_lost() -> None:
    assert kinds(queue_anomalies(history(*AB, look(k0=[])))) == {Kind.LOST}


def test_a_record_that_a_reader_went_past_is_lost_to_it() -> None:
    found = look(k0=[(0, "a"), (5, "c")], k1=[(0, "b")])
    anomalies = queue_anomalies(history(*AB, *transaction(2, (0, "c")), read(0, (5, "c")), found))
    assert kinds(anomalies) == {Kind.LOST}
    assert "r went past" in anomalies[0].sentence


def test_a_reader_that_has_not_come_so_far_has_lost_nothing() -> None:
    found = look(k0=[(0, "a"), (5, "c")], k1=[(0, "b")])
    told = history(*AB, *transaction(2, (0, "c")), read(0, (0, "a")), found)
    assert queue_anomalies(told) == []


def test_one_value_at_two_offsets_is_duplicated() -> None:
    twice = look(k0=[(0, "a"), (3, "a")], k1=[(0, "b")])
    assert kinds(queue_anomalies(history(*AB, twice))) == {Kind.DUPLICATED}


def test_one_record_delivered_twice_is_duplicated() -> None:
    again = [read(0, (0, "a")), read(0, (0, "a"))]
    assert kinds(queue_anomalies(history(*AB, *again, FOUND))) == {Kind.DUPLICATED}
    others = [read(0, (0, "a")), read(0, (0, "a"), process="another")]
    assert queue_anomalies(history(*AB, *others, FOUND)) == []


@pytest.mark.parametrize(
    "ending",
    [
        transaction(1, (0, "a"), commit=False),
        transaction(1, (0, "a"), commit=False, answer=INFO),
        transaction(1, (0, "a"), answer=FAIL),
        transaction(1, (0, "a"))[:1],
    ],
    ids=["aborted", "abort in doubt", "commit failed", "never ended"],
)
def test_a_read_of_what_was_not_committed_is_an_aborted_read(ending: list[Step]) -> None:
    assert kinds(queue_anomalies(history(*ending, look(k0=[(0, "a")])))) == {Kind.ABORTED}


def test_a_read_before_the_commit_was_asked_for_is_dirty() -> None:
    appended, ended = AB[:2], AB[2:]
    early = history(*appended, read(0, (0, "a")), *ended, FOUND)
    assert kinds(queue_anomalies(early)) == {Kind.DIRTY}
    between = history(*AB[:3], read(0, (0, "a")), *AB[3:], FOUND)
    assert queue_anomalies(between) == []


@pytest.mark.parametrize("answer", [OK, INFO])
def test_a_part_of_a_transaction_is_torn(answer: Phase) -> None:
    told = history(*transaction(1, (0, "a"), (1, "b"), answer=answer), look(k0=[(0, "a")]))
    assert kinds(queue_anomalies(told)) == {Kind.TORN}


def test_a_part_of_a_transaction_within_one_key_is_torn_too() -> None:
    told = history(*transaction(1, (0, "a"), (0, "b")), look(k0=[(0, "a")]))
    assert kinds(queue_anomalies(told)) == {Kind.TORN}


def test_a_reader_that_goes_back_is_noticed() -> None:
    sent = transaction(1, (0, "a"), (0, "b"))
    told = history(*sent, read(0, (1, "b")), read(0, (0, "a")), look(k0=[(0, "a"), (1, "b")]))
    assert kinds(queue_anomalies(told)) == {Kind.REORDERED}


def test_records_in_another_order_than_their_producer_sent_them_are_noticed() -> None:
    sent = [*transaction(1, (0, "a")), *transaction(2, (0, "b"))]
    swapped = look(k0=[(0, "b"), (2, "a")])
    assert kinds(queue_anomalies(history(*sent, swapped))) == {Kind.REORDERED}
    others = [*transaction(1, (0, "a")), *transaction(2, (0, "b"), process="q")]
    assert queue_anomalies(history(*others, swapped)) == []


def test_two_values_at_one_offset_are_noticed() -> None:
    sent = [*transaction(1, (0, "a")), *transaction(2, (0, "b"))]
    told = history(*sent, read(0, (0, "b")), look(k0=[(0, "a"), (1, "b")]))
    assert Kind.CHANGED in kinds(queue_anomalies(told))


def test_a_record_that_was_read_and_is_gone_is_noticed() -> None:
    doubtful = transaction(1, (0, "a"), answer=INFO)
    told = history(*doubtful, read(0, (0, "a")), look(k0=[]))
    assert kinds(queue_anomalies(told)) == {Kind.CHANGED}


def test_a_value_that_nobody_sent_is_noticed() -> None:
    assert kinds(queue_anomalies(history(look(k0=[(0, "x")])))) == {Kind.CHANGED}


@pytest.mark.parametrize("found", [look(k0=[(1, "a")]), look(k1=[(0, "a")])])
def test_a_record_elsewhere_than_was_acknowledged_is_noticed(found: Step) -> None:
    told = history(*transaction(1, (0, "a"), offsets={"a": 0}), found)
    assert kinds(queue_anomalies(told)) == {Kind.CHANGED}


def _opened(process: str) -> list[Step]:
    return [(process, INVOKE, Open("id")), (process, OK, Open("id"))]


def test_an_instance_that_is_obeyed_after_the_next_was_let_in_is_not_fenced() -> None:
    steps = transaction(1, (0, "a"))
    found = look(k0=[(0, "a")])
    for at in (0, 2):
        told = history(*_opened("p"), *steps[:at], *_opened("q"), *steps[at:], found)
        assert kinds(queue_anomalies(told)) == {Kind.UNFENCED}
    told = history(*_opened("p"), *steps[:3], *_opened("q"), *steps[3:], found)
    assert queue_anomalies(told) == []


def test_an_instance_that_is_refused_after_the_next_was_let_in_is_fenced() -> None:
    steps = [*transaction(1, (0, "a"))[:2], *_opened("q"), *transaction(1, answer=FAIL)[2:]]
    assert queue_anomalies(history(*_opened("p"), *steps, look())) == []


def test_of_two_instances_that_ask_at_once_either_may_be_the_last() -> None:
    asked = [("p", INVOKE, Open("id")), ("q", INVOKE, Open("id"))]
    let_in: list[Step] = [("q", OK, Open("id")), ("p", OK, Open("id"))]
    for process in "pq":
        sent = transaction(1, (0, "a"), process=process)
        assert queue_anomalies(history(*asked, *let_in, *sent, look(k0=[(0, "a")]))) == []


def _reads_then_appends(
    number: int, process: str, seen: Step, value: tuple[int, str]
) -> list[Step]:
    return [seen, *transaction(number, value, process=process)]


def test_transactions_that_read_each_other_are_in_a_cycle() -> None:
    told = history(
        *_reads_then_appends(1, "p", read(1, (0, "b"), process="p", within=1), (0, "a")),
        *_reads_then_appends(2, "q", read(0, (0, "a"), process="q", within=2), (1, "b")),
        FOUND,
    )
    (anomaly,) = list_append_anomalies(told)
    assert anomaly.kind is Kind.CYCLE
    assert "transaction 1 of p" in anomaly.sentence
    assert "transaction 2 of q" in anomaly.sentence


def test_a_transaction_that_read_one_that_lies_behind_it_is_in_a_cycle() -> None:
    """It appended before what it had read was appended."""
    told = history(
        *transaction(1, (0, "a"), (1, "b")),
        *_reads_then_appends(2, "q", read(1, (0, "b"), process="q", within=2), (0, "c")),
        look(k0=[(0, "c"), (2, "a")], k1=[(0, "b")]),
    )
    assert kinds(list_append_anomalies(told)) == {Kind.CYCLE}


def test_a_transaction_that_read_its_own_process_later_one_is_in_a_cycle() -> None:
    told = history(
        *_reads_then_appends(1, "p", read(0, (0, "c"), process="p", within=1), (0, "a")),
        *transaction(2, (0, "b")),
        *_reads_then_appends(3, "q", read(0, (1, "b"), process="q", within=3), (0, "c")),
        look(k0=[(0, "c"), (1, "b"), (2, "a")]),
    )
    assert kinds(list_append_anomalies(told)) == {Kind.CYCLE}


def test_transactions_that_interleave_are_in_no_cycle() -> None:
    """Each is first in one list: Kafka allows that (G0)."""
    told = history(
        *transaction(1, (0, "a"), (1, "b")),
        *transaction(2, (0, "c"), (1, "d"), process="q"),
        look(k0=[(0, "a"), (1, "c")], k1=[(0, "d"), (1, "b")]),
    )
    assert list_append_anomalies(told) == []


def test_a_transaction_that_spans_two_others_is_in_no_cycle() -> None:
    """It is behind the one in a list and before it in another; the second read the first."""
    told = history(
        *transaction(1, (0, "a"), (1, "b")),
        *_reads_then_appends(2, "q", read(0, (1, "a"), process="q", within=2), (2, "c")),
        *transaction(3, (0, "x"), (2, "y"), process="s"),
        look(k0=[(0, "x"), (1, "a")], k1=[(0, "b")], k2=[(0, "c"), (1, "y")]),
    )
    assert list_append_anomalies(told) == []


KEYS = 2


class Model:
    """A log with transactions, as Kafka has it: what readers may see ends at the first open one."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._logs: dict[int, list[tuple[str, int] | None]] = {key: [] for key in range(KEYS)}
        self._open: dict[str, int] = {}
        self._appended: set[int] = set()
        self._committed: set[int] = set()
        self._positions: dict[tuple[str, int], int] = {}
        self._count = 0

    def append(self, process: str, key: int) -> None:
        number = self._transaction(process)
        value = f"v{len(self.steps)}"
        self._appended.add(number)
        self.steps.append((process, INVOKE, Append(number, [(key, value)])))
        self._logs[key].append((value, number))
        offsets = {value: len(self._logs[key]) - 1}
        self.steps.append((process, OK, Append(number, [(key, value)], offsets)))

    def end(self, process: str, commit: bool, doubtful: bool) -> None:
        number = self._open.pop(process, None)
        if number is None:
            return
        self.steps.append((process, INVOKE, End(number, commit)))
        if commit:
            self._committed.add(number)
        for log in self._logs.values():
            log.append(None)
        self.steps.append((process, INFO if doubtful else OK, End(number, commit)))

    def read(self, process: str, key: int) -> None:
        """As a client that reads at the beginning of a transaction, or as one that has none."""
        number = self._transaction(process) if process in "pq" else None
        if number in self._appended:
            return
        stable = self._stable(key)
        start = self._positions.get((process, key), 0)
        self._positions[process, key] = max(stable, start)
        self.steps.append((process, OK, Read(key, self._visible(key, start, stable), number)))

    def finished(self) -> list[Event]:
        for process in tuple(self._open):
            self.end(process, commit=False, doubtful=True)
        logs = {key: self._visible(key, 0, self._stable(key)) for key in range(KEYS)}
        return history(*self.steps, ("last", OK, Look(logs)))

    def _transaction(self, process: str) -> int:
        if process not in self._open:
            self._count += 1
            self._open[process] = self._count
        return self._open[process]

    def _stable(self, key: int) -> int:
        still_open = set(self._open.values())
        log = self._logs[key]
        return next((at for at, it in enumerate(log) if it and it[1] in still_open), len(log))

    def _visible(self, key: int, start: int, end: int) -> list[Element]:
        log = self._logs[key]
        found = ((at, log[at]) for at in range(start, end))
        return [Element(at, it[0]) for at, it in found if it and it[1] in self._committed]


KEY = st.integers(0, KEYS - 1)
MOVES = st.one_of(
    st.tuples(st.just(Model.append), st.sampled_from("pq"), KEY),
    st.tuples(st.just(Model.end), st.sampled_from("pq"), st.booleans(), st.booleans()),
    st.tuples(st.just(Model.read), st.sampled_from("pqrs"), KEY),
)


@given(st.lists(MOVES, max_size=60))
def test_nothing_is_wrong_with_what_a_log_with_transactions_does(moves: list[tuple]) -> None:  # type: ignore[type-arg]
    model = Model()
    for move, *arguments in moves:
        move(model, *arguments)
    told = model.finished()
    assert queue_anomalies(told) == []
    assert list_append_anomalies(told) == []
