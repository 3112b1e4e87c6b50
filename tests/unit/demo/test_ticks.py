"""Made-up ticks: the same ones from the same seed, and only as wild as was asked for."""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import count, islice, pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.demo.ticks import Disorder, Tick, make_ticks

START_US = 1_701_355_409_700_245
IN_ORDER = Disorder(late=0.0, out_of_order=0.0)
TICKERS = ["AMZN", "GOOG", "NVDA"]

seeds = st.integers(min_value=0, max_value=2**32)
shares = st.floats(min_value=0.0, max_value=0.5)
disorders = st.builds(
    Disorder, shares, st.floats(min_value=0.0, max_value=3600.0), out_of_order=shares
)


def made(number: int, disorder: Disorder = IN_ORDER, seed: int = 7) -> list[Tick]:
    """Ticks by a clock that moves a millisecond at a time."""
    clock = count(START_US, 1000)
    endless = make_ticks(TICKERS, disorder, Random(seed), lambda: next(clock))
    return list(islice(endless, number))


def overtaken(ticks: list[Tick]) -> int:
    return sum(earlier.event_time_us > later.event_time_us for earlier, later in pairwise(ticks))


def late(ticks: list[Tick], span_us: int) -> Iterator[int]:
    """How late each late tick is, where tick n was made n milliseconds after the start."""
    for number, tick in enumerate(ticks):
        behind_us = START_US + number * 1000 - tick.event_time_us
        if behind_us:
            assert 0 < behind_us <= span_us
            yield behind_us


def test_a_tick_is_written_as_the_course_writes_it() -> None:
    assert Tick(START_US, "AMZN", 74.95).to_json() == (
        b'{"event_time": "2023-11-30T14:43:29.700245", "ticker": "AMZN", "price": 74.95}'
    )


def test_a_time_on_the_second_has_its_six_digits_too() -> None:
    written = json.loads(Tick(1_701_355_409_000_000, "AMZN", 1.0).to_json())
    assert written["event_time"] == "2023-11-30T14:43:29.000000"


@given(seeds, disorders)
def test_the_same_seed_and_clock_make_the_same_ticks(seed: int, disorder: Disorder) -> None:
    assert made(50, disorder, seed) == made(50, disorder, seed)


def test_another_seed_makes_others() -> None:
    assert made(50, seed=1) != made(50, seed=2)


@given(seeds, disorders)
def test_prices_are_positive_and_in_cents(seed: int, disorder: Disorder) -> None:
    for tick in made(200, disorder, seed):
        price = json.loads(tick.to_json())["price"]
        assert price > 0
        assert price == round(price, 2)


@given(seeds)
def test_in_order_means_that_no_time_repeats_even_where_the_clock_stands(seed: int) -> None:
    endless = make_ticks(TICKERS, IN_ORDER, Random(seed), lambda: START_US)
    times = [tick.event_time_us for tick in islice(endless, 50)]
    assert times == list(range(START_US, START_US + 50))


def test_every_ticker_walks_in_small_steps_and_stays_near_its_start() -> None:
    ticks = made(60_000)
    for ticker in TICKERS:
        prices = [tick.price for tick in ticks if tick.ticker == ticker]
        steps = [abs(b / a - 1) for a, b in pairwise(prices)]
        assert len(set(prices)) > 100
        assert max(steps) < 0.02
        assert 0.2 < max(prices) / prices[0] < 5
        assert 0.2 < min(prices) / prices[0] < 5


def test_the_late_share_holds_and_none_is_later_than_asked() -> None:
    behind = list(late(made(20_000, Disorder(late=0.2, late_by_s=3.0)), 3_000_000))
    assert 0.19 < len(behind) / 20_000 < 0.21
    assert max(behind) > 2_900_000
    assert min(behind) < 100_000


def test_the_out_of_order_share_holds_and_only_neighbours_swap() -> None:
    ticks = made(20_000, Disorder(late=0.0, out_of_order=0.2))
    assert 0.19 < overtaken(ticks) / 20_000 < 0.21
    for place, tick in enumerate(ticks):
        assert abs((tick.event_time_us - START_US) // 1000 - place) <= 1


def test_half_of_them_out_of_order_is_every_pair_swapped() -> None:
    assert overtaken(made(1000, Disorder(late=0.0, out_of_order=0.5))) == 500


def test_without_disorder_they_come_in_order() -> None:
    ticks = made(1000)
    assert overtaken(ticks) == 0
    assert list(late(ticks, 0)) == []


def test_event_time_is_utc() -> None:
    moment = datetime.fromisoformat("2023-11-30T14:43:29.700245+00:00")
    assert Tick(START_US, "AMZN", 1.0).event_time == moment
