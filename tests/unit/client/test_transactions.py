"""What transactions are in words and numbers: ages, states, what cannot be aborted, and why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.transaction import ONGOING, OPEN, STATES, Transaction, age_ms
from kafkaesque.client.transaction_status import another_one, status, why_not_abort
from kafkaesque.errors import ErrorCode
from kafkaesque.types import TopicPartition

NOW_MS = 1_700_000_000_000


def transaction(state: str = ONGOING, epoch: int = 2, started_ms: int = NOW_MS) -> Transaction:
    return Transaction(
        "copier", 0, 4000, epoch, state, 60_000, started_ms, (TopicPartition("orders", 0),)
    )


def test_an_age_is_the_time_since_the_start() -> None:
    assert age_ms(NOW_MS - 1500, NOW_MS) == 1500
    assert age_ms(None, NOW_MS) is None


def test_a_coordinator_whose_clock_is_ahead_makes_no_age_below_nothing() -> None:
    assert age_ms(NOW_MS + 10_000, NOW_MS) == 0


@pytest.mark.parametrize("state", STATES)
def test_a_transaction_is_open_until_its_end_is_complete(state: str) -> None:
    assert transaction(state).is_open is (state == ONGOING or state.startswith("Prepare"))


def test_it_is_the_same_one_whatever_was_added_to_it() -> None:
    seen = transaction()
    later = Transaction("copier", 0, 4000, 2, ONGOING, 60_000, NOW_MS, ())
    assert later.is_same_as(seen)
    assert not transaction(epoch=3).is_same_as(seen)
    assert not transaction(started_ms=NOW_MS + 1).is_same_as(seen)


@pytest.mark.parametrize("state", [*STATES, "SomethingNew"])
def test_only_what_is_ongoing_can_be_aborted(state: str) -> None:
    refused = why_not_abort(transaction(state))
    if state == ONGOING:
        assert refused is None
    else:
        assert refused is not None
        assert refused.error == "INVALID_TXN_STATE"
        assert ("no open transaction" in str(refused)) is (state not in OPEN)
        assert "`kafkaesque txn " in refused.cure


def test_a_commit_that_is_decided_is_told_from_an_abort_that_is_under_way() -> None:
    assert "cannot be taken back" in str(why_not_abort(transaction("PrepareCommit")))
    assert "being aborted already" in str(why_not_abort(transaction("PrepareAbort")))
    assert "`kafkaesque txn describe copier`" in str(another_one("copier"))


@given(st.sampled_from(ErrorCode))
def test_every_error_has_a_cause_and_a_cure(code: ErrorCode) -> None:
    told = status("copier", code)
    if code is ErrorCode.NONE:
        assert str(told) == "OK"
    else:
        assert told.error == code.name
        assert told.message
        assert told.cure
        assert "{" not in told.cure


def test_what_the_cluster_says_itself_comes_first() -> None:
    told = status("copier", ErrorCode.INVALID_REQUEST, "transactions are switched off")
    assert str(told).startswith("INVALID_REQUEST: transactions are switched off; ")
