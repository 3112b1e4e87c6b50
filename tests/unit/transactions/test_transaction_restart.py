"""After a crash: what the partitions show, put together with what the log says."""

from collections.abc import Callable

import pytest
from tests.unit.transactions.driver import (
    CONFIG,
    FIRST_ID,
    MOMENT,
    NOW,
    P0,
    P1,
    TIMEOUT_MS,
    Driver,
    at_epoch,
)

from kafkaesque.transactions.events import State, StoredTransaction
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.transaction import LAST_CLIENT_EPOCH, Transaction
from kafkaesque.types import Moment

BOTH = pytest.mark.parametrize("commit", [True, False])
ALL_ENDS = pytest.mark.parametrize("bumps", [True, False])


def complete(commit: bool, bumps: bool, epoch: int = 5) -> Driver:
    driver = at_epoch(epoch)
    driver.add(P0)
    driver.end(commit, bumps=bumps)
    driver.written()
    return driver


def prepared(commit: bool, bumps: bool, epoch: int = 5) -> Driver:
    driver = at_epoch(epoch)
    driver.add(P0)
    driver.end(commit, bumps=bumps)
    driver.restart()
    return driver


@BOTH
@ALL_ENDS
def test_what_is_prepared_has_its_markers_written_again(commit: bool, bumps: bool) -> None:
    driver = at_epoch(5)
    driver.add(P0, P1)
    driver.end(commit, bumps=bumps)
    markers = driver.markers()
    driver.restart()
    assert driver.effects == [markers]
    verdict = "CompleteCommit" if commit else "CompleteAbort"
    assert driver.written() == (verdict if bumps else verdict + "!")


def test_nothing_is_resumed_where_nothing_is_prepared() -> None:
    driver = at_epoch(5)
    assert driver.transaction.resume(MOMENT) == []
    driver.add(P0)
    assert driver.transaction.resume(MOMENT) == []
    assert complete(True, bumps=False).transaction.resume(MOMENT) == []


def test_open_records_make_an_empty_transaction_ongoing() -> None:
    driver = at_epoch(5)
    driver.transaction.reinstate([P0, P1], Moment(NOW + 5, NOW + 7))
    transaction = driver.transaction
    assert transaction.state is State.ONGOING
    assert transaction.partitions == {P0, P1}
    assert transaction.started_ms == NOW + 7
    assert not transaction.is_due(Moment(NOW + 4 + TIMEOUT_MS, NOW))
    assert transaction.is_due(Moment(NOW + 5 + TIMEOUT_MS, NOW))
    assert driver.end(True) == "PrepareCommit!+markers"


@BOTH
@ALL_ENDS
def test_open_records_are_of_the_next_transaction_if_the_last_is_complete(
    commit: bool, bumps: bool
) -> None:
    transaction = complete(commit, bumps).transaction
    transaction.reinstate([P1], MOMENT)
    assert transaction.state is State.ONGOING
    assert transaction.partitions == {P1}


def test_an_ongoing_transaction_gains_partitions_and_keeps_its_age() -> None:
    driver = at_epoch(5)
    driver.add(P0)
    driver.transaction.reinstate([P1], Moment(NOW + 5, NOW + 5))
    assert driver.transaction.partitions == {P0, P1}
    assert driver.transaction.started_ms == NOW


@pytest.mark.parametrize("ask", [Driver.add, Driver.verify])
def test_a_partition_that_only_its_records_have_shown_is_stored_when_it_is_written_to_again(
    ask: Callable[..., str],
) -> None:
    driver = at_epoch(5)
    driver.add(P0)
    driver.transaction.reinstate([P1], MOMENT)
    assert ask(driver, P0) == "ok"
    assert ask(driver, P1) == "Ongoing+ok"
    assert driver.stored().partitions == {P0, P1}
    assert ask(driver, P1) == "ok"


@BOTH
def test_open_records_of_the_epoch_of_a_decision_are_what_it_is_about(commit: bool) -> None:
    transaction = prepared(commit, bumps=False).transaction
    before = transaction.stored
    transaction.reinstate([P0], MOMENT)
    assert transaction.stored == before


@BOTH
def test_open_records_of_an_epoch_that_the_decision_raised_are_of_the_next_transaction(
    commit: bool,
) -> None:
    transaction = prepared(commit, bumps=True).transaction
    transaction.reinstate([P1], MOMENT)
    assert transaction.state is State.ONGOING
    assert transaction.partitions == {P1}
    assert transaction.identity == (FIRST_ID, 6)
    assert transaction.resume(MOMENT) == []


def test_open_records_of_the_producer_id_that_follows_are_of_the_next_transaction() -> None:
    transaction = prepared(True, bumps=True, epoch=LAST_CLIENT_EPOCH).transaction
    assert transaction.identity == (FIRST_ID + 1, 0)
    transaction.reinstate([P1], MOMENT)
    assert (transaction.producer_id, transaction.producer_epoch) == (FIRST_ID + 1, 0)
    assert transaction.state is State.ONGOING


def test_an_end_without_a_higher_epoch_is_stored_before_the_next_transaction_begins() -> None:
    """Or its open records would be taken for those of the decision before it."""
    assert prepared(True, bumps=False).written() == "CompleteCommit!"
    assert prepared(True, bumps=True).written() == "CompleteCommit"
    assert complete(True, bumps=False).add(P0) == "Ongoing+ok"


def test_a_record_of_kafkas_says_how_a_transaction_ended_only_when_it_has() -> None:
    """There an ongoing one has the producer's version: the end may be another's all the same."""
    stored = StoredTransaction(
        State.ONGOING,
        FIRST_ID,
        5,
        TIMEOUT_MS,
        NOW,
        NOW,
        Partitions({P0}),
        client_transaction_version=2,
    )
    driver = Driver(Transaction.restore("t", CONFIG, stored))
    driver.end(True)
    assert driver.stored().client_transaction_version == 0
    assert not driver.transaction.has_bumped
