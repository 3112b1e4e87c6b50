"""Two readings of a broker's histogram tell how late its loop was between them."""

from collections.abc import Iterable

import pytest
from benchmarks.peers.loop_delay import LoopDelay

from kafkaesque.broker.loop_delay import LoopDelay as OfTheBroker
from kafkaesque.metrics import exposition


def reading(*delays_ms: float) -> LoopDelay:
    return LoopDelay.parse(_page(delays_ms))


def _page(delays_ms: Iterable[float]) -> str:
    """What a broker whose loop was that late shows."""
    told = OfTheBroker()
    for delay in delays_ms:
        told.histogram.observe(delay / 1000)
    return exposition(told.metrics())


def test_ticks_after_20_ms_are_late() -> None:
    assert reading(1, 20, 20.5, 70, 700).late == 3


def test_only_what_came_after_the_first_reading_counts() -> None:
    assert reading(30, 1, 2).since(reading(30)).late == 0
    assert reading(30, 1, 30).since(reading(30, 1)).late == 1


def test_no_tick_was_later_than_the_bound_of_the_highest_bucket_that_got_one() -> None:
    assert reading(300, 1, 3, 0.1).since(reading(300)).at_most_ms == 5


def test_no_tick_was_later_than_the_latest_of_all() -> None:
    assert reading(1, 13.5).at_most_ms == 13.5
    assert reading(900, 1, 700).since(reading(900)).at_most_ms == 900


def test_a_page_without_it_is_refused() -> None:
    with pytest.raises(ValueError, match="delay"):
        LoopDelay.parse("kafkaesque_topics 3\n")
