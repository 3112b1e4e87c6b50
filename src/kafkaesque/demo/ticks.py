"""Stock ticks: prices that walk at random, some told late and some out of order.

    {"event_time": "2023-11-30T14:43:29.700245", "ticker": "AMZN", "price": 74.95}

`event_time` is UTC. A late tick's lies up to `late_by_s` seconds back. An out-of-order one comes
after the tick that followed it. Pure: chance and time are passed in, so that one seed and one
clock make the same ticks again. Above: sender.py, cli/demo.py.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TypeAlias

Micros: TypeAlias = Callable[[], int]
"""Wall time in microseconds since 1970."""

_EPOCH = datetime(1970, 1, 1)
_STEP = 0.001
# Draws each walk back to its start, so that no price runs away in a demo that runs for weeks.
_PULL = 0.00001


@dataclass(frozen=True, slots=True)
class Tick:
    """`event_time_us` is in microseconds since 1970."""

    event_time_us: int
    ticker: str
    price: float

    @property
    def event_time(self) -> datetime:
        return (_EPOCH + timedelta(microseconds=self.event_time_us)).replace(tzinfo=UTC)

    def to_json(self) -> bytes:
        moment = self.event_time.replace(tzinfo=None).isoformat(timespec="microseconds")
        return json.dumps(
            {"event_time": moment, "ticker": self.ticker, "price": self.price}
        ).encode()


Encode: TypeAlias = Callable[[Tick], bytes]


@dataclass(frozen=True, slots=True)
class Disorder:
    """Which shares of the ticks come late and out of order. At most every second can be swapped."""

    late: float = 0.05
    late_by_s: float = 10.0
    out_of_order: float = 0.0


def make_ticks(
    tickers: Sequence[str], disorder: Disorder, random: Random, clock: Micros
) -> Iterator[Tick]:
    """Ticks for ever."""
    late_ticks = _told_late(_walk(tickers, random, clock), disorder, random)
    return _swapped(late_ticks, disorder.out_of_order, random)


def _walk(tickers: Sequence[str], random: Random, clock: Micros) -> Iterator[Tick]:
    """In order: no two have the same time, whatever the clock says."""
    starts = {ticker: random.uniform(20.0, 200.0) for ticker in tickers}
    walks = dict.fromkeys(tickers, 0.0)
    now = 0
    while True:
        now = max(clock(), now + 1)
        ticker = random.choice(tickers)
        walk = walks[ticker] * (1 - _PULL) + random.gauss(0.0, _STEP)
        walks[ticker] = walk
        yield Tick(now, ticker, round(starts[ticker] * math.exp(walk), 2))


def _told_late(ticks: Iterator[Tick], disorder: Disorder, random: Random) -> Iterator[Tick]:
    latest_us = int(disorder.late_by_s * 1_000_000)
    for tick in ticks:
        if random.random() < disorder.late:
            # 1 − random() is never 0: a late tick is behind, if by a microsecond.
            behind = math.ceil((1.0 - random.random()) * latest_us)
            yield replace(tick, event_time_us=tick.event_time_us - behind)
        else:
            yield tick


def _swapped(ticks: Iterator[Tick], share: float, random: Random) -> Iterator[Tick]:
    # A swap uses up two ticks and puts one out of order: hence more than `share` are begun.
    chance = share / (1.0 - share)
    for tick in ticks:
        if random.random() < chance:
            yield next(ticks)
        yield tick
