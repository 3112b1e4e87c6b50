"""Begin, add, end: epochs, markers, repeated and delayed requests."""

import pytest
from tests.unit.transactions.driver import (
    FIRST_ID,
    NOW,
    P0,
    P1,
    REFUNDS,
    TIMEOUT_MS,
    Driver,
    at_epoch,
)

from kafkaesque.transactions.events import Add, State, Unwritten
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.transaction import LAST_CLIENT_EPOCH, MAX_EPOCH
from kafkaesque.types import Moment

BOTH = pytest.mark.parametrize("commit", [True, False])


def test_partitions_are_taken_in_once() -> None:
    driver = at_epoch(5)
    assert driver.add(P0) == "Ongoing+ok"
    driver.tick(10)
    assert driver.add(P1, REFUNDS) == "Ongoing+ok"
    assert driver.add(P0, REFUNDS) == "ok"
    assert driver.transaction.partitions == {P0, P1, REFUNDS}
    assert (driver.transaction.started_ms, driver.transaction.updated_ms) == (NOW, NOW + 10)


def test_no_partition_is_no_reason_to_begin() -> None:
    driver = at_epoch(5)
    assert driver.handle(Add(driver.token(), *driver.identity(), Partitions())) == "ok"
    assert driver.transaction.state is State.EMPTY


def test_verify_is_about_all_partitions() -> None:
    driver = at_epoch(5)
    driver.add(P0, P1)
    assert driver.verify(P0, P1) == "ok"
    assert driver.verify(P0, REFUNDS) == "state"


@BOTH
def test_an_end_is_decided_then_marked_then_answered(commit: bool) -> None:
    driver = at_epoch(5)
    driver.add(P0, P1)
    verdict = "Commit" if commit else "Abort"
    assert driver.end(commit) == f"Prepare{verdict}!+markers"
    assert driver.stored().partitions == {P0, P1}
    markers = driver.markers()
    assert (markers.producer_id, markers.producer_epoch, markers.commit) == (FIRST_ID, 5, commit)
    assert markers.partitions == {P0, P1}
    assert driver.written() == f"ok+Complete{verdict}!"
    assert driver.stored().partitions == Partitions()
    assert driver.told() == (-1, -1)


@BOTH
def test_an_end_that_bumps_raises_the_epoch_with_the_decision(commit: bool) -> None:
    driver = at_epoch(5)
    driver.add(P0)
    driver.end(commit, bumps=True)
    stored = driver.stored()
    assert (stored.producer_epoch, stored.client_transaction_version) == (6, 2)
    assert driver.markers().producer_epoch == 6
    driver.written()
    assert driver.told() == (FIRST_ID, 6)


@BOTH
def test_an_end_succeeds_even_if_its_markers_cannot_be_written_now(commit: bool) -> None:
    driver = at_epoch(5)
    driver.add(P0)
    driver.end(commit, bumps=True)
    assert driver.handle(Unwritten()) == "ok"
    assert driver.told() == (FIRST_ID, 6)
    assert driver.add(P0) == "concurrent"
    assert driver.handle(Unwritten()) == "-"
    driver.written()
    assert driver.add(P0) == "Ongoing+ok"


@BOTH
def test_an_end_is_told_again_what_it_was_told(commit: bool) -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.add(P0)
    driver.end(commit, bumps=True)
    driver.written()
    assert driver.end(commit, bumps=True, claimed=mine) == "ok"
    assert driver.told() == (FIRST_ID, 6)
    assert driver.end(not commit, bumps=True, claimed=mine) == "state"


def test_an_end_is_told_again_after_a_restart() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.add(P0)
    driver.end(True, bumps=True)
    driver.restart()
    assert driver.markers().commit
    assert driver.written() == "CompleteCommit"
    assert driver.end(True, bumps=True, claimed=mine) == "ok"
    assert driver.told() == (FIRST_ID, 6)


@BOTH
def test_at_the_last_epoch_an_end_that_bumps_brings_a_new_producer_id(commit: bool) -> None:
    driver = at_epoch(LAST_CLIENT_EPOCH)
    mine = driver.identity()
    driver.add(P0)
    driver.end(commit, bumps=True)
    assert driver.stored().next_producer_id == FIRST_ID + 1
    assert (driver.markers().producer_id, driver.markers().producer_epoch) == (FIRST_ID, MAX_EPOCH)
    driver.written()
    assert driver.told() == (FIRST_ID + 1, 0)
    stored = driver.stored()
    assert (stored.producer_id, stored.previous_producer_id) == (FIRST_ID + 1, FIRST_ID)
    assert stored.next_producer_id == -1
    driver.restart()
    assert driver.end(commit, bumps=True, claimed=mine) == "ok"
    assert driver.told() == (FIRST_ID + 1, 0)


def test_the_new_producer_id_is_told_even_if_markers_cannot_be_written_now() -> None:
    driver = at_epoch(LAST_CLIENT_EPOCH)
    driver.add(P0)
    driver.end(True, bumps=True)
    driver.handle(Unwritten())
    assert driver.told() == (FIRST_ID + 1, 0)
    assert driver.add(P0, claimed=(FIRST_ID + 1, 0)) == "concurrent"
    driver.written()
    assert driver.add(P0, claimed=(FIRST_ID + 1, 0)) == "Ongoing+ok"


def test_an_abort_of_nothing_raises_the_epoch() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    assert driver.end(False, bumps=True) == "CompleteAbort!+ok"
    assert driver.told() == (FIRST_ID, 6)
    assert driver.add(P0, claimed=mine) == "fenced"
    assert driver.end(False, bumps=True, claimed=mine) == "ok"


def test_an_abort_of_nothing_at_the_last_epoch_brings_a_new_producer_id() -> None:
    driver = at_epoch(LAST_CLIENT_EPOCH)
    driver.end(False, bumps=True)
    assert driver.told() == (FIRST_ID + 1, 0)


def test_an_epoch_that_the_end_did_not_raise_is_no_repetition() -> None:
    """It is a fenced producer's, and must not be told the epoch of the one that fenced it."""
    driver = at_epoch(5)
    mine = driver.identity()
    driver.init()
    driver.add(P0)
    driver.end(True)
    driver.written()
    assert driver.end(True, bumps=True, claimed=mine) == "fenced"


def test_after_its_timeout_a_transaction_is_aborted_and_its_producer_fenced() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.add(P0)
    driver.tick(TIMEOUT_MS // 2)
    driver.add(P1)
    assert driver.tick(TIMEOUT_MS // 2 - 1) == "-"
    assert not driver.transaction.is_due(driver.moment())
    assert driver.tick(1) == "PrepareAbort!+markers"
    assert driver.markers().producer_epoch == 6
    assert driver.markers().partitions == {P0, P1}
    assert not driver.transaction.is_due(Moment(2**62, 2**62))
    assert driver.end(True, bumps=True, claimed=mine) == "concurrent"
    assert driver.end(True, claimed=mine) == "fenced"
    assert driver.written() == "CompleteAbort"
    assert driver.end(True, claimed=mine) == "fenced"
    assert driver.end(True, bumps=True, claimed=mine) == "state"
    assert driver.end(False, bumps=True, claimed=mine) == "ok"


def test_an_idle_transactional_id_expires() -> None:
    driver = at_epoch(5)
    expiration_ms = driver.transaction.config.expiration_ms
    assert driver.tick(expiration_ms - 1) == "-"
    driver.add(P0)
    driver.end(True)
    driver.written()
    assert driver.tick(expiration_ms - 1) == "-"
    assert driver.tick(1) == "removed"
    assert driver.transaction.state is State.DEAD
    assert not driver.transaction.is_due(Moment(2**62, 2**62))
    assert not Driver().transaction.is_due(Moment(2**62, 2**62))


def test_a_delayed_end_does_not_touch_the_next_transaction() -> None:
    driver = at_epoch(5)
    driver.add(P0, connection=3)
    driver.end(True, connection=4)
    driver.written()
    driver.add(P0, connection=4)
    assert driver.end(True, connection=3) == "state"
    assert driver.end(False, connection=3) == "state"
    assert driver.transaction.state is State.ONGOING
    assert driver.end(True, connection=4) == "PrepareCommit!+markers"


def test_a_delayed_add_neither_begins_a_transaction_nor_joins_one() -> None:
    driver = at_epoch(5)
    driver.add(P0, connection=3)
    driver.end(True, connection=4)
    driver.written()
    assert driver.add(P1, connection=3) == "state"
    assert driver.add(P0, connection=4) == "Ongoing+ok"
    assert driver.add(P1, connection=3) == "state"
    assert driver.add(P1, connection=5) == "Ongoing+ok"
    assert driver.end(True, connection=4) == "state"


def test_a_repeated_end_may_come_over_any_connection() -> None:
    driver = at_epoch(5)
    driver.add(P0, connection=3)
    driver.end(True, connection=4)
    driver.written()
    assert driver.end(True, connection=3) == "ok"
    assert driver.end(True, connection=9) == "ok"


def test_connections_do_not_matter_if_they_are_not_told_or_the_epoch_tells() -> None:
    driver = at_epoch(5)
    driver.add(P0, connection=7)
    assert driver.add(P1) == "Ongoing+ok"
    assert driver.end(True, bumps=True, connection=3) == "PrepareCommit!+markers"
    driver.written()
    assert driver.add(P0, connection=2) == "Ongoing+ok"
    assert driver.end(True) == "PrepareCommit!+markers"


def test_a_new_producer_may_come_over_any_connection() -> None:
    driver = at_epoch(5)
    driver.add(P0, connection=7)
    driver.end(True, connection=7)
    driver.written()
    driver.init()
    assert driver.add(P0, connection=2) == "Ongoing+ok"
