"""Who gets which producer id and epoch from InitProducerId, and whom that fences."""

import pytest
from tests.unit.transactions.driver import FIRST_ID, NOW, P0, TIMEOUT_MS, Driver, at_epoch

from kafkaesque.transactions.events import End, Init, State, Unwritten
from kafkaesque.transactions.transaction import LAST_CLIENT_EPOCH, MAX_EPOCH


def test_the_first_init_gets_a_fresh_id() -> None:
    driver = Driver()
    assert driver.init() == "Empty!+ok"
    assert driver.told() == (FIRST_ID, 0)
    stored = driver.stored()
    assert (stored.producer_id, stored.producer_epoch) == (FIRST_ID, 0)
    assert (stored.timeout_ms, stored.updated_ms, stored.started_ms) == (TIMEOUT_MS, NOW, -1)


def test_each_init_raises_the_epoch_and_fences_whoever_had_the_one_before() -> None:
    driver = Driver()
    driver.init()
    old = driver.identity()
    driver.init()
    assert driver.told() == (FIRST_ID, 1)
    assert driver.init(old) == "fenced"
    assert driver.add(claimed=old) == "fenced"


def test_an_init_takes_the_new_timeout() -> None:
    driver = Driver()
    driver.init()
    driver.init(timeout_ms=7)
    assert driver.transaction.timeout_ms == 7


def test_an_init_in_the_middle_of_a_transaction_waits_until_that_is_aborted() -> None:
    driver = at_epoch(5)
    driver.add(P0)
    assert driver.init() == "PrepareAbort!+markers"
    markers = driver.markers()
    assert (markers.producer_epoch, markers.commit) == (6, False)
    assert markers.partitions == {P0}
    assert driver.written() == "CompleteAbort+Empty!+ok"
    assert driver.told() == (FIRST_ID, 7)
    assert not driver.transaction.partitions


def test_an_init_whose_abort_cannot_be_written_has_to_come_again() -> None:
    driver = at_epoch(5)
    driver.add(P0)
    driver.init()
    assert driver.handle(Unwritten()) == "concurrent"
    assert driver.init() == "concurrent"
    assert driver.written() == "CompleteAbort"
    driver.init()
    assert driver.told() == (FIRST_ID, 7)


def test_a_producer_that_goes_on_gets_the_next_epoch_as_often_as_it_asks() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.init(mine)
    assert driver.told() == (FIRST_ID, 6)
    driver.init(mine)
    assert driver.told() == (FIRST_ID, 6)
    driver.init((FIRST_ID, 6))
    assert driver.told() == (FIRST_ID, 7)
    assert driver.init(mine) == "fenced"


def test_a_producer_that_goes_on_in_the_middle_of_a_transaction_can_ask_again() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.add(P0)
    driver.init(mine)
    driver.written()
    assert driver.told() == (FIRST_ID, 7)
    driver.init(mine)
    assert driver.told() == (FIRST_ID, 7)


def test_a_delayed_init_does_not_abort_what_began_after_its_repetition() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.init(mine)
    driver.add(P0)
    assert driver.init(mine) == "fenced"
    assert driver.transaction.state is State.ONGOING


def test_a_delayed_init_does_not_undo_what_ended_after_its_repetition() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.init(mine)
    driver.add(P0)
    driver.end(True)
    driver.written()
    assert driver.init(mine) == "fenced"
    assert driver.end(True) == "ok"


def test_a_producer_that_timed_out_can_go_on() -> None:
    driver = at_epoch(5)
    mine = driver.identity()
    driver.add(P0)
    assert driver.tick(TIMEOUT_MS) == "PrepareAbort!+markers"
    assert driver.written() == "CompleteAbort"
    assert driver.init(mine) == "Empty!+ok"
    assert driver.told() == (FIRST_ID, 6)


def test_a_producer_that_comes_after_its_id_has_expired_starts_afresh() -> None:
    driver = Driver()
    assert driver.init((77, 3)) == "Empty!+ok"
    assert driver.told() == (FIRST_ID, 0)


def test_after_the_last_epoch_comes_a_new_producer_id() -> None:
    driver = at_epoch(LAST_CLIENT_EPOCH - 1)
    driver.init()
    assert driver.told() == (FIRST_ID, LAST_CLIENT_EPOCH)
    driver.init()
    assert driver.told() == (FIRST_ID + 1, 0)
    assert driver.stored().previous_producer_id == FIRST_ID


def test_a_producer_that_went_on_after_the_last_epoch_can_ask_again() -> None:
    driver = at_epoch(LAST_CLIENT_EPOCH)
    mine = driver.identity()
    for _ in range(3):
        assert driver.init(mine) == "Empty!+ok"
        assert driver.told() == (FIRST_ID + 1, 0)
    assert driver.init((FIRST_ID, LAST_CLIENT_EPOCH - 1)) == "fenced"


@pytest.mark.parametrize("epoch", [LAST_CLIENT_EPOCH - 1, LAST_CLIENT_EPOCH])
def test_if_fencing_takes_the_last_epoch_the_init_gets_a_new_producer_id(epoch: int) -> None:
    driver = at_epoch(epoch)
    driver.add(P0)
    driver.init()
    assert driver.markers().producer_id == FIRST_ID
    assert driver.markers().producer_epoch == epoch + 1
    driver.written()
    assert driver.told() == (FIRST_ID + 1, 0)


def test_the_epoch_that_only_fences_is_never_told() -> None:
    driver = at_epoch(LAST_CLIENT_EPOCH)
    mine = driver.identity()
    driver.add(P0)
    driver.tick(TIMEOUT_MS)
    driver.written()
    assert driver.identity() == (FIRST_ID, MAX_EPOCH)
    assert driver.end(False, bumps=True, claimed=mine) == "fenced"
    assert driver.init(mine) == "Empty!+ok"
    assert driver.told() == (FIRST_ID + 1, 0)


def test_an_epoch_beyond_the_last_stays_where_it_is() -> None:
    driver = at_epoch(MAX_EPOCH)
    driver.add(P0)
    driver.tick(TIMEOUT_MS)
    assert driver.markers().producer_epoch == MAX_EPOCH
    driver.written()
    driver.init()
    assert driver.told() == (FIRST_ID + 1, 0)


def test_a_fresh_id_is_needed_for_an_unknown_transaction_and_near_the_last_epoch() -> None:
    assert Driver().transaction.needs_fresh_id
    assert not at_epoch(0).transaction.needs_fresh_id
    assert not at_epoch(LAST_CLIENT_EPOCH - 2).transaction.needs_fresh_id
    assert at_epoch(LAST_CLIENT_EPOCH - 1).transaction.needs_fresh_id


def test_who_comes_without_a_fresh_id_where_one_is_needed_has_to_come_again() -> None:
    unknown = Driver()
    assert unknown.handle(Init(1, TIMEOUT_MS)) == "concurrent"
    assert unknown.transaction.is_vacant
    driver = at_epoch(LAST_CLIENT_EPOCH)
    mine = driver.identity()
    assert driver.handle(Init(1, TIMEOUT_MS)) == "concurrent"
    assert driver.handle(End(2, *mine, commit=False, bumps=True)) == "concurrent"
    driver.add(P0)
    assert driver.handle(End(3, *mine, commit=True, bumps=True)) == "concurrent"
    assert driver.handle(Init(4, TIMEOUT_MS)) == "PrepareAbort!+markers"
    assert driver.written() == "CompleteAbort+concurrent"
    assert driver.init() == "Empty!+ok"
    assert driver.told() == (FIRST_ID + 1, 0)
