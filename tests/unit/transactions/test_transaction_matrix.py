"""Every event in every situation, for every relation of who asks to whom the transaction belongs.

A cell says what comes of it: `Ongoing` is stored, `Ongoing!` is stored durably, `markers` are asked
for, the rest is the answer (`ok`, `fenced` PRODUCER_FENCED, `mapping` INVALID_PRODUCER_ID_MAPPING,
`state` INVALID_TXN_STATE, `concurrent` CONCURRENT_TRANSACTIONS, `timeout`
INVALID_TRANSACTION_TIMEOUT). `-` is nothing at all. One cell for a row counts for all columns.

The situations: `-1` after an ending that keeps the epoch, `-2` after one that raises it. A
`restarted` producer came back with its producer id and epoch (KIP-360). Of a `fenced-` one an Init
waits, of a `timed-out` one nobody. The relations: the `current` producer id and epoch, the epoch
`before`, one `older` than that, a `newer` one, and a `stranger`'s producer id.
"""

from collections.abc import Callable, Iterator
from typing import get_args

import pytest
from tests.unit.transactions.driver import CONFIG, P0, TIMEOUT_MS, Driver, at_epoch

from kafkaesque.transactions.events import Event, State, Unwritten, Written
from kafkaesque.transactions.transaction import Transaction
from kafkaesque.transactions.transitions import TRANSITIONS

EPOCH = 5
RELATIONS = ("current", "before", "older", "newer", "stranger")


def empty() -> Driver:
    return at_epoch(EPOCH)


def restarted() -> Driver:
    driver = at_epoch(EPOCH - 1)
    driver.init(driver.identity())
    return driver


def ongoing() -> Driver:
    driver = empty()
    driver.add(P0)
    return driver


def prepared(commit: bool, bumps: bool) -> Driver:
    driver = ongoing()
    driver.end(commit, bumps=bumps)
    return driver


def complete(commit: bool, bumps: bool) -> Driver:
    driver = prepared(commit, bumps)
    driver.written()
    return driver


def fenced_by_init() -> Driver:
    driver = ongoing()
    driver.init()
    return driver


def timed_out() -> Driver:
    driver = ongoing()
    driver.tick(TIMEOUT_MS)
    return driver


def dead() -> Driver:
    driver = empty()
    driver.tick(CONFIG.expiration_ms)
    return driver


SITUATIONS: dict[str, tuple[State, Callable[[], Driver]]] = {
    "vacant": (State.EMPTY, Driver),
    "empty": (State.EMPTY, empty),
    "restarted": (State.EMPTY, restarted),
    "ongoing": (State.ONGOING, ongoing),
    "preparing-commit-1": (State.PREPARE_COMMIT, lambda: prepared(True, bumps=False)),
    "preparing-commit-2": (State.PREPARE_COMMIT, lambda: prepared(True, bumps=True)),
    "preparing-abort-1": (State.PREPARE_ABORT, lambda: prepared(False, bumps=False)),
    "preparing-abort-2": (State.PREPARE_ABORT, lambda: prepared(False, bumps=True)),
    "fenced-by-init": (State.PREPARE_ABORT, fenced_by_init),
    "timed-out": (State.PREPARE_ABORT, timed_out),
    "committed-1": (State.COMPLETE_COMMIT, lambda: complete(True, bumps=False)),
    "committed-2": (State.COMPLETE_COMMIT, lambda: complete(True, bumps=True)),
    "aborted-1": (State.COMPLETE_ABORT, lambda: complete(False, bumps=False)),
    "aborted-2": (State.COMPLETE_ABORT, lambda: complete(False, bumps=True)),
    "dead": (State.DEAD, dead),
}

CLAIMS: dict[str, Callable[[Driver, tuple[int, int]], str]] = {
    "Init": lambda driver, claimed: driver.init(claimed),
    "Add": lambda driver, claimed: driver.add(P0, claimed=claimed),
    "Verify": lambda driver, claimed: driver.verify(P0, claimed=claimed),
    "commit-1": lambda driver, claimed: driver.end(True, claimed=claimed),
    "abort-1": lambda driver, claimed: driver.end(False, claimed=claimed),
    "commit-2": lambda driver, claimed: driver.end(True, bumps=True, claimed=claimed),
    "abort-2": lambda driver, claimed: driver.end(False, bumps=True, claimed=claimed),
}

OTHERS: dict[str, Callable[[Driver], str]] = {
    "Init": lambda driver: driver.init(),
    "Init-0ms": lambda driver: driver.init(timeout_ms=0),
    "Init-∞": lambda driver: driver.init(timeout_ms=CONFIG.max_timeout_ms + 1),
    "Tick": lambda driver: driver.tick(TIMEOUT_MS - 1),
    "Tick-late": lambda driver: driver.tick(CONFIG.expiration_ms),
    "Written": lambda driver: driver.handle(Written()),
    "Unwritten": lambda driver: driver.handle(Unwritten()),
}

BY_RELATION = """
Init                current                before     older   newer   stranger
vacant              Empty!+ok
empty               Empty!+ok              fenced     fenced  fenced  fenced
restarted           Empty!+ok              Empty!+ok  fenced  fenced  fenced
ongoing             PrepareAbort!+markers  fenced     fenced  fenced  fenced
preparing-commit-1  concurrent
preparing-commit-2  concurrent
preparing-abort-1   concurrent
preparing-abort-2   concurrent
fenced-by-init      concurrent
timed-out           concurrent
committed-1         Empty!+ok              fenced     fenced  fenced  fenced
committed-2         Empty!+ok              Empty!+ok  fenced  fenced  fenced
aborted-1           Empty!+ok              fenced     fenced  fenced  fenced
aborted-2           Empty!+ok              Empty!+ok  fenced  fenced  fenced
dead                concurrent

Add                 current      before  older   newer   stranger
vacant              mapping
empty               Ongoing+ok   fenced  fenced  fenced  mapping
restarted           Ongoing+ok   fenced  fenced  fenced  mapping
ongoing             ok           fenced  fenced  fenced  mapping
preparing-commit-1  concurrent
preparing-commit-2  concurrent
preparing-abort-1   concurrent
preparing-abort-2   concurrent
fenced-by-init      concurrent
timed-out           concurrent
committed-1         Ongoing+ok   fenced  fenced  fenced  mapping
committed-2         Ongoing+ok   fenced  fenced  fenced  mapping
aborted-1           Ongoing+ok   fenced  fenced  fenced  mapping
aborted-2           Ongoing+ok   fenced  fenced  fenced  mapping
dead                mapping

Verify              current     before  older   newer   stranger
vacant              mapping
empty               state       fenced  fenced  fenced  mapping
restarted           state       fenced  fenced  fenced  mapping
ongoing             ok          fenced  fenced  fenced  mapping
preparing-commit-1  concurrent  fenced  fenced  fenced  mapping
preparing-commit-2  concurrent  fenced  fenced  fenced  mapping
preparing-abort-1   concurrent  fenced  fenced  fenced  mapping
preparing-abort-2   concurrent  fenced  fenced  fenced  mapping
fenced-by-init      concurrent  fenced  fenced  fenced  mapping
timed-out           concurrent  fenced  fenced  fenced  mapping
committed-1         state       fenced  fenced  fenced  mapping
committed-2         state       fenced  fenced  fenced  mapping
aborted-1           state       fenced  fenced  fenced  mapping
aborted-2           state       fenced  fenced  fenced  mapping
dead                mapping

commit-1            current                 before  older   newer   stranger
vacant              mapping
empty               state                   fenced  fenced  fenced  mapping
restarted           state                   fenced  fenced  fenced  mapping
ongoing             PrepareCommit!+markers  fenced  fenced  fenced  mapping
preparing-commit-1  concurrent              fenced  fenced  fenced  mapping
preparing-commit-2  concurrent              fenced  fenced  fenced  mapping
preparing-abort-1   concurrent              fenced  fenced  fenced  mapping
preparing-abort-2   concurrent              fenced  fenced  fenced  mapping
fenced-by-init      concurrent              fenced  fenced  fenced  mapping
timed-out           concurrent              fenced  fenced  fenced  mapping
committed-1         ok                      fenced  fenced  fenced  mapping
committed-2         ok                      fenced  fenced  fenced  mapping
aborted-1           state                   fenced  fenced  fenced  mapping
aborted-2           state                   fenced  fenced  fenced  mapping
dead                mapping

abort-1             current                before  older   newer   stranger
vacant              mapping
empty               state                  fenced  fenced  fenced  mapping
restarted           state                  fenced  fenced  fenced  mapping
ongoing             PrepareAbort!+markers  fenced  fenced  fenced  mapping
preparing-commit-1  concurrent             fenced  fenced  fenced  mapping
preparing-commit-2  concurrent             fenced  fenced  fenced  mapping
preparing-abort-1   concurrent             fenced  fenced  fenced  mapping
preparing-abort-2   concurrent             fenced  fenced  fenced  mapping
fenced-by-init      concurrent             fenced  fenced  fenced  mapping
timed-out           concurrent             fenced  fenced  fenced  mapping
committed-1         state                  fenced  fenced  fenced  mapping
committed-2         state                  fenced  fenced  fenced  mapping
aborted-1           ok                     fenced  fenced  fenced  mapping
aborted-2           ok                     fenced  fenced  fenced  mapping
dead                mapping

commit-2            current                 before  older   newer   stranger
vacant              mapping
empty               state                   fenced  fenced  fenced  mapping
restarted           state                   fenced  fenced  fenced  mapping
ongoing             PrepareCommit!+markers  fenced  fenced  fenced  mapping
preparing-commit-1  concurrent
preparing-commit-2  concurrent
preparing-abort-1   concurrent
preparing-abort-2   concurrent
fenced-by-init      concurrent
timed-out           concurrent
committed-1         state                   fenced  fenced  fenced  mapping
committed-2         state                   ok      fenced  fenced  mapping
aborted-1           state                   fenced  fenced  fenced  mapping
aborted-2           state                   state   fenced  fenced  mapping
dead                mapping

abort-2             current                before  older   newer   stranger
vacant              mapping
empty               CompleteAbort!+ok      fenced  fenced  fenced  mapping
restarted           CompleteAbort!+ok      fenced  fenced  fenced  mapping
ongoing             PrepareAbort!+markers  fenced  fenced  fenced  mapping
preparing-commit-1  concurrent
preparing-commit-2  concurrent
preparing-abort-1   concurrent
preparing-abort-2   concurrent
fenced-by-init      concurrent
timed-out           concurrent
committed-1         CompleteAbort!+ok      fenced  fenced  fenced  mapping
committed-2         CompleteAbort!+ok      state   fenced  fenced  mapping
aborted-1           CompleteAbort!+ok      fenced  fenced  fenced  mapping
aborted-2           CompleteAbort!+ok      ok      fenced  fenced  mapping
dead                mapping
"""

BY_EVENT = """
                    Init                   Init-0ms    Init-∞
vacant              Empty!+ok              timeout     timeout
empty               Empty!+ok              timeout     timeout
restarted           Empty!+ok              timeout     timeout
ongoing             PrepareAbort!+markers  timeout     timeout
preparing-commit-1  concurrent             timeout     timeout
preparing-commit-2  concurrent             timeout     timeout
preparing-abort-1   concurrent             timeout     timeout
preparing-abort-2   concurrent             timeout     timeout
fenced-by-init      concurrent             timeout     timeout
timed-out           concurrent             timeout     timeout
committed-1         Empty!+ok              timeout     timeout
committed-2         Empty!+ok              timeout     timeout
aborted-1           Empty!+ok              timeout     timeout
aborted-2           Empty!+ok              timeout     timeout
dead                concurrent             concurrent  concurrent

                    Tick  Tick-late              Written                  Unwritten
vacant              -     -                      -                        -
empty               -     removed                -                        -
restarted           -     removed                -                        -
ongoing             -     PrepareAbort!+markers  -                        -
preparing-commit-1  -     -                      ok+CompleteCommit!       ok
preparing-commit-2  -     -                      ok+CompleteCommit        ok
preparing-abort-1   -     -                      ok+CompleteAbort!        ok
preparing-abort-2   -     -                      ok+CompleteAbort         ok
fenced-by-init      -     -                      CompleteAbort+Empty!+ok  concurrent
timed-out           -     -                      CompleteAbort            -
committed-1         -     removed                -                        -
committed-2         -     removed                -                        -
aborted-1           -     removed                -                        -
aborted-2           -     removed                -                        -
dead                -     -                      -                        -
"""


def claims_in_every_relation() -> Iterator[tuple[str, str, str, str]]:
    for block in BY_RELATION.strip().split("\n\n"):
        head, *rows = [line.split() for line in block.splitlines()]
        event, relations = head[0], head[1:]
        assert tuple(relations) == RELATIONS
        for situation, *cells in rows:
            whole_row = cells * len(relations) if len(cells) == 1 else cells
            for relation, expected in zip(relations, whole_row, strict=True):
                yield situation, event, relation, expected


def other_events() -> Iterator[tuple[str, str, str]]:
    for block in BY_EVENT.strip().split("\n\n"):
        events, *rows = [line.split() for line in block.splitlines()]
        for situation, *cells in rows:
            for event, expected in zip(events, cells, strict=True):
                yield situation, event, expected


def who(relation: str, driver: Driver) -> tuple[int, int]:
    producer_id, epoch = driver.identity()
    return {
        "current": (producer_id, epoch),
        "before": (producer_id, epoch - 1),
        "older": (producer_id, epoch - 2),
        "newer": (producer_id, epoch + 1),
        "stranger": (77, epoch),
    }[relation]


def test_the_table_names_every_state_with_every_event_and_nothing_else() -> None:
    assert set(TRANSITIONS) == {(state, event) for state in State for event in get_args(Event)}


def test_the_tables_here_name_every_situation_with_every_event() -> None:
    claims = {(situation, event) for situation, event, _, _ in claims_in_every_relation()}
    assert claims == {(situation, event) for situation in SITUATIONS for event in CLAIMS}
    others = {(situation, event) for situation, event, _ in other_events()}
    assert others == {(situation, event) for situation in SITUATIONS for event in OTHERS}
    assert {state for state, _ in SITUATIONS.values()} == set(State)


@pytest.mark.parametrize(
    ("situation", "event", "relation", "expected"), [*claims_in_every_relation()]
)
def test_who_asks_decides(situation: str, event: str, relation: str, expected: str) -> None:
    state, build = SITUATIONS[situation]
    driver = build()
    assert driver.transaction.state is state
    assert CLAIMS[event](driver, who(relation, driver)) == expected


@pytest.mark.parametrize(("situation", "event", "expected"), [*other_events()])
def test_other_events(situation: str, event: str, expected: str) -> None:
    assert OTHERS[event](SITUATIONS[situation][1]()) == expected


@pytest.mark.parametrize("event", CLAIMS)
@pytest.mark.parametrize("situation", [name for name in SITUATIONS if name != "vacant"])
def test_what_is_refused_changes_nothing(situation: str, event: str) -> None:
    driver = SITUATIONS[situation][1]()
    before = driver.transaction.stored
    assert CLAIMS[event](driver, (77, 0)) in ("fenced", "mapping", "concurrent")
    assert driver.transaction.stored == before


@pytest.mark.parametrize("situation", [name for name in SITUATIONS if name != "vacant"])
def test_after_a_restart_all_is_as_before_but_nobody_waits(situation: str) -> None:
    driver = SITUATIONS[situation][1]()
    again = Transaction.restore("t", CONFIG, driver.transaction.stored)
    expected = {**vars(driver.transaction), "waiting": None, "times_out_at_ms": None}
    if situation == "restarted":
        expected["last_identity"] = None
    assert vars(again) == expected


def test_what_nobody_has_initialized_belongs_to_nobody() -> None:
    assert Driver().identity() == (-1, -1)
    assert Driver().add(P0, claimed=(-1, -1)) == "mapping"
