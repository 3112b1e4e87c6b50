"""The candles that the console keeps: which update wins, what is news to a page, what it offers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.console.addresses import candles_path, name_in
from kafkaesque.console.candles import Candle, Candles, Name, candle_of, place_of, window_ms
from kafkaesque.console.candles_choice import chosen, offers_of
from kafkaesque.console.candles_poller import FEW, MANY, beginning

MINUTE_MS = 60_000
START_MS = 1_794_794_400_000
AAPL = Name("AAPL", "1m")
AMZN = Name("AMZN", "1m")


def key(minute: int, name: Name = AAPL) -> bytes:
    return f"{name.ticker}|{name.window}|2026-11-16T02:{minute:02}:00Z".encode()


def value(**changes: Any) -> bytes:
    told = {
        "ticker": "AAPL",
        "window": "1m",
        "start": "2026-11-16T02:00:00Z",
        "end": "2026-11-16T02:01:00Z",
        "open": 10.0,
        "high": 12.5,
        "low": 9.5,
        "close": 11.0,
        "average": 10.75,
        "volatility": 0.25,
        "count": 7,
    }
    return json.dumps(told | changes).encode()


def closes(candles: Candles, name: Name = AAPL, since: int = 0) -> list[float]:
    news = candles.news(name, since)
    return [] if news is None else [candle.close for candle in news.candles]


def test_a_record_is_a_candle_of_the_series_that_its_key_names() -> None:
    assert place_of(key(0)) == (AAPL, START_MS)
    assert place_of(b"BRK|B|5m|2026-11-16T02:00:00Z") == (Name("BRK|B", "5m"), START_MS)
    assert candle_of(START_MS, value()) == Candle(
        START_MS, START_MS + MINUTE_MS, 10.0, 12.5, 9.5, 11.0, 10.75, 0.25, 7
    )


@pytest.mark.parametrize("wrong", [None, b"", b"AAPL", b"AAPL|1m|noon", b"\xff|1m|2026-11-16"])
def test_a_key_that_names_no_candle_is_none(wrong: bytes | None) -> None:
    assert place_of(wrong) is None


@pytest.mark.parametrize(
    "wrong",
    [
        b"{",
        b"[]",
        b"{}",
        value(close=None),
        value(high="dear"),
        value(low=float("nan")),
        value(high=float("inf")),
        value(end="noon"),
        value(end=None),
    ],
)
def test_a_value_that_could_not_be_drawn_is_no_candle(wrong: bytes) -> None:
    assert candle_of(START_MS, wrong) is None


def test_what_is_only_nice_to_know_may_be_missing() -> None:
    found = candle_of(START_MS, value(average=None, volatility=None, count=None))
    assert found is not None
    assert (found.average, found.volatility, found.count) == (None, None, 0)


def test_the_latest_update_of_a_candle_wins_and_candles_are_in_order_of_time() -> None:
    candles = Candles()
    candles.add([(key(1), value(close=1.0)), (key(0), value(close=2.0)), (b"no", b"candle")])
    candles.add([(key(1), value(close=3.0))])
    assert closes(candles) == [2.0, 3.0]


def test_a_page_is_told_only_what_has_changed_since() -> None:
    candles = Candles()
    candles.add([(key(0), value(close=1.0)), (key(1), value(close=2.0))])
    first = candles.news(AAPL, 0)
    assert first is not None
    assert first.replace
    assert candles.news(AAPL, first.version) is None
    candles.add([(key(0, AMZN), value())])
    assert candles.news(AAPL, first.version) is None
    candles.add([(key(1), value(close=3.0)), (key(2), value(close=4.0))])
    second = candles.news(AAPL, first.version)
    assert second is not None
    assert not second.replace
    assert [candle.close for candle in second.candles] == [3.0, 4.0]


def test_a_null_takes_a_candle_away_and_a_page_then_gets_all_anew() -> None:
    candles = Candles()
    candles.add([(key(0), value(close=1.0)), (key(1), value(close=2.0))])
    version = candles.version
    candles.add([(key(0), None), (key(9), None), (key(0, AMZN), None)])
    news = candles.news(AAPL, version)
    assert news is not None
    assert news.replace
    assert [candle.close for candle in news.candles] == [2.0]


def test_after_a_clear_a_page_that_had_candles_has_none() -> None:
    candles = Candles()
    candles.add([(key(0), value())])
    version = candles.version
    candles.clear()
    news = candles.news(AAPL, version)
    assert news is not None
    assert (news.replace, news.candles) == (True, [])
    assert candles.news(AAPL, news.version) is None


def test_only_the_newest_candles_of_a_series_are_kept() -> None:
    candles = Candles(kept=2)
    candles.add([(key(minute), value(close=float(minute))) for minute in (3, 1, 2, 0)])
    assert closes(candles) == [2.0, 3.0]


def test_of_too_many_series_the_one_that_was_silent_for_longest_goes() -> None:
    candles = Candles(most_series=2)
    candles.add([(key(0), value()), (key(0, AMZN), value()), (key(1), value())])
    version = candles.version
    candles.add([(b"GOOG|1m|2026-11-16T02:00:00Z", value())])
    assert [name.ticker for name in candles.names] == ["AAPL", "GOOG"]
    gone = candles.news(AMZN, version)
    assert gone is not None
    assert (gone.replace, gone.candles) == (True, [])


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 9) | st.none()))))
def test_a_page_that_follows_the_news_has_what_a_new_one_gets(
    batches: list[list[tuple[int, float | None]]],
) -> None:
    candles, page, version = Candles(kept=5), dict[int, Candle](), 0
    for batch in batches:
        candles.add(
            (key(minute), None if close is None else value(close=close)) for minute, close in batch
        )
        if news := candles.news(AAPL, version):
            version = news.version
            page = ({} if news.replace else page) | {each.start_ms: each for each in news.candles}
            page = {start: page[start] for start in sorted(page)[-5:]}
    fresh = candles.news(AAPL, 0)
    assert fresh is not None
    assert [page[start] for start in sorted(page)] == fresh.candles


@pytest.mark.parametrize(
    ("window", "ms"), [("30s", 30_000), ("1m", 60_000), ("2h", 7_200_000), ("", 0), ("wide", 0)]
)
def test_a_window_says_how_long_it_is(window: str, ms: int) -> None:
    assert window_ms(window) == ms


def test_tickers_are_offered_by_name_with_their_short_windows_first() -> None:
    candles = Candles()
    for name in (AMZN, Name("AAPL", "10m"), Name("AAPL", "5m"), AAPL):
        candles.add([(key(0, name), value())])
    assert [(each["ticker"], each["windows"]) for each in offers_of(candles.names)] == [
        ("AAPL", ["1m", "5m", "10m"]),
        ("AMZN", ["1m"]),
    ]


def test_what_the_address_asks_for_is_shown_else_the_first_there_is() -> None:
    names = [AAPL, Name("AAPL", "5m"), AMZN]
    assert chosen(names, Name("AAPL", "5m")) == Name("AAPL", "5m")
    assert chosen(names, Name("AMZN", "5m")) == AMZN
    assert chosen(names, Name("", "1m")) == AAPL
    assert chosen([Name("GOOG", "5m")], Name("", "1m")) == Name("GOOG", "5m")
    assert chosen(names, Name("NONE", "1m")) == Name("NONE", "1m")
    assert chosen([], Name("", "1m")) == Name("", "1m")


def test_a_ticker_of_any_name_has_an_address() -> None:
    path = candles_path("BRK/B")
    assert path.count("/") == 2
    assert name_in(path.removeprefix("/candles/")) == "BRK/B"


def test_reading_begins_some_hours_back_but_with_neither_too_little_nor_too_much() -> None:
    end = 10 * MANY
    assert beginning(0, end - FEW - 5, end) == end - FEW - 5
    assert beginning(0, end, end) == end - FEW
    assert beginning(0, 0, end) == end - MANY
    assert beginning(end - 7, end - 7, end) == end - 7
    assert beginning(0, 3, 3) == 0
