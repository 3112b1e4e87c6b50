"""Candles reckoned in plain Python, to compare the pipeline's with, and ticks to make them of."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import Any

from kafkaesque.demo.ticks import Tick

MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Placed:
    """A tick, and where it is in the log."""

    tick: Tick
    topic: str
    partition: int
    offset: int

    @property
    def order(self) -> tuple[int, str, int, int]:
        return self.tick.event_time_us, self.topic, self.partition, self.offset


def walk(
    count: int, tickers: Iterable[str], start_us: int, step_us: int, jitter_us: int, seed: int = 7
) -> list[Tick]:
    """Ticks a step apart, told up to `jitter_us` earlier than they are: some have the same time."""
    random = Random(seed)
    names = sorted(tickers)
    ticks = []
    for number in range(count):
        # Whole milliseconds, so that there are ties.
        moment = start_us + number * step_us - random.randrange(jitter_us + 1)
        price = round(100 + 10 * math.sin(number / 50) + random.random(), 2)
        ticks.append(Tick(moment // 1000 * 1000, random.choice(names), price))
    return ticks


def reckoned(ticks: Iterable[Placed], minutes: int = 1) -> dict[str, dict[str, Any]]:
    """By the keys of the topic: windows of so many minutes, one for every minute."""
    windows: dict[tuple[str, int], list[Placed]] = defaultdict(list)
    for each in ticks:
        first = each.tick.event_time_us // MINUTE_US * MINUTE_US
        for back in range(minutes):
            windows[each.tick.ticker, first - back * MINUTE_US].append(each)
    return dict(
        _candle(ticker, start, minutes, found) for (ticker, start), found in windows.items()
    )


def assert_same(
    found: Mapping[str, dict[str, Any]], expected: Mapping[str, dict[str, Any]]
) -> None:
    assert set(found) == set(expected)
    for key, candle in expected.items():
        one = found[key]
        assert {**one, "average": 0, "volatility": 0} == {**candle, "average": 0, "volatility": 0}
        for name in ("average", "volatility"):
            assert math.isclose(one[name], candle[name], rel_tol=1e-9, abs_tol=1e-9), (key, name)


def latest(records: Iterable[tuple[bytes | None, bytes | None]]) -> dict[str, dict[str, Any]]:
    """What a compacted topic comes to."""
    return {(key or b"").decode(): json.loads(value or b"null") for key, value in records}


def of_kind(found: dict[str, dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {key: each for key, each in found.items() if each["window"] == kind}


def closed_by(
    ticks: Sequence[Placed], minutes: int, delay_us: int = 10_000_000
) -> dict[str, dict[str, Any]]:
    """The windows that are over when all ticks are in, and were waited for."""
    watermark = moment(max(each.tick.event_time_us for each in ticks) - delay_us)
    found = reckoned(ticks, minutes)
    return {key: candle for key, candle in found.items() if candle["end"] <= watermark}


def moment(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _candle(
    ticker: str, start: int, minutes: int, ticks: list[Placed]
) -> tuple[str, dict[str, Any]]:
    ordered = sorted(ticks, key=lambda each: each.order)
    assert all(one.order < other.order for one, other in pairwise(ordered))
    prices = [each.tick.price for each in ordered]
    average = math.fsum(prices) / len(prices)
    spread = math.fsum((price - average) ** 2 for price in prices) / len(prices)
    kind = f"{minutes}m"
    return f"{ticker}|{kind}|{moment(start)}", {
        "ticker": ticker,
        "window": kind,
        "start": moment(start),
        "end": moment(start + minutes * MINUTE_US),
        "open": prices[0],
        "high": max(prices),
        "low": min(prices),
        "close": prices[-1],
        "average": average,
        "volatility": math.sqrt(spread),
        "count": len(prices),
    }
