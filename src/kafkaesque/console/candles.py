"""Candles, as the topic stock_ohlc tells of them, and the latest of each kept in memory. Pure.

    key "AAPL|1m|2026-11-16T02:00:00Z"    value {"open": …, "high": …, "low": …, "close": …, …}

A series is the candles of one ticker and one window, by their starts. The latest update of a key
wins, and a null takes the candle away. A series keeps its newest candles alone, and there are so
many series at most: whoever was silent for longest goes. Versions say what is news to whom: a page
asks for what came after the version that it has. Above: candles_poller.py, pages/candles.py.
"""

import json
import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

TOPIC = "stock_ohlc"
KEPT = 240
MOST_SERIES = 1000


class Name(NamedTuple):
    """Of a series."""

    ticker: str
    window: str


@dataclass(frozen=True, slots=True)
class Candle:
    start_ms: int
    end_ms: int
    open: float
    high: float
    low: float
    close: float
    average: float | None = None
    volatility: float | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class News:
    """What a page draws: `candles` in order of time, and whether they replace all it has."""

    version: int
    candles: list[Candle]
    replace: bool


@dataclass(slots=True)
class Series:
    candles: dict[int, Candle] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    anew: int = 0
    """The version in which one was taken away: whoever is older needs all."""


_NOTHING = Series()


class Candles:
    def __init__(self, kept: int = KEPT, most_series: int = MOST_SERIES) -> None:
        self.version = 0
        self._kept = kept
        self._most_series = most_series
        self._series: OrderedDict[Name, Series] = OrderedDict()
        # The version in which a series went: whoever is older needs all.
        self._anew = 0

    def add(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Keys and values, in the order of the topic. What is no candle is passed over."""
        self.version += 1
        for key, value in records:
            if (place := place_of(key)) is None:
                continue
            name, start_ms = place
            if value is None:
                self._take_away(name, start_ms)
            elif candle := candle_of(start_ms, value):
                self._put(name, candle)

    def clear(self) -> None:
        self.version += 1
        self._series.clear()
        self._anew = self.version

    @property
    def names(self) -> list[Name]:
        """In order: tickers by their letters, short windows first."""
        return sorted(self._series, key=lambda name: (name.ticker, window_ms(name.window)))

    def news(self, name: Name, since: int) -> News | None:
        """Of one series, what came after a version; None if nothing did. Since 0: all of it."""
        series = self._series.get(name, _NOTHING)
        replace = since == 0 or max(series.anew, self._anew) > since
        starts = sorted(
            start for start, version in series.versions.items() if replace or version > since
        )
        if not starts and not replace:
            return None
        return News(self.version, [series.candles[start] for start in starts], replace)

    def _put(self, name: Name, candle: Candle) -> None:
        series = self._series.setdefault(name, Series())
        self._series.move_to_end(name)
        series.candles[candle.start_ms] = candle
        series.versions[candle.start_ms] = self.version
        if len(series.candles) > self._kept:
            oldest = min(series.candles)
            del series.candles[oldest], series.versions[oldest]
        if len(self._series) > self._most_series:
            self._series.popitem(last=False)
            self._anew = self.version

    def _take_away(self, name: Name, start_ms: int) -> None:
        series = self._series.get(name)
        if series is not None and start_ms in series.candles:
            del series.candles[start_ms], series.versions[start_ms]
            series.anew = self.version


def place_of(key: bytes | None) -> tuple[Name, int] | None:
    """The series and the start that a key names; None if it names none."""
    try:
        ticker, window, start = (key or b"").decode().rsplit("|", 2)
        return Name(ticker, window), _ms(start)
    except ValueError:
        return None


def candle_of(start_ms: int, value: bytes) -> Candle | None:
    """None if it is no candle: no JSON, a price missing, or none that could be drawn."""
    try:
        told: Any = json.loads(value)
        if not isinstance(told, Mapping):
            return None
        return Candle(
            start_ms,
            _ms(told["end"]),
            open=_price(told["open"]),
            high=_price(told["high"]),
            low=_price(told["low"]),
            close=_price(told["close"]),
            average=_maybe_price(told.get("average")),
            volatility=_maybe_price(told.get("volatility")),
            count=int(told.get("count") or 0),
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def window_ms(window: str) -> int:
    """How long a window is, of 30s, 1m or 1h; 0 if it does not say so."""
    units = {"s": 1000, "m": 60_000, "h": 3_600_000}
    number = window[:-1]
    return int(number) * units.get(window[-1], 0) if number.isdecimal() else 0


def _ms(moment: str) -> int:
    """ISO 8601; without a zone it is UTC."""
    found = datetime.fromisoformat(moment)
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


def _price(value: Any) -> float:
    price = float(value)
    if not math.isfinite(price):
        raise ValueError(f"{price} is no price")
    return price


def _maybe_price(value: Any) -> float | None:
    return None if value is None else _price(value)
