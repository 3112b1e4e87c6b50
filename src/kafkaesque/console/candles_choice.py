"""Which candles a page shows, and which it offers. Pure. Above: pages/candles.py."""

from collections.abc import Sequence
from typing import Any

from kafkaesque.console.addresses import candles_path
from kafkaesque.console.candles import Name


def chosen(names: Sequence[Name], wanted: Name) -> Name:
    """What to show: what is wanted, even before it is there; else the ticker's or the first."""
    if wanted in names or not names:
        return wanted
    of_ticker = [name for name in names if name.ticker == wanted.ticker]
    if of_ticker or wanted.ticker:
        return of_ticker[0] if of_ticker else wanted
    return next((name for name in names if name.window == wanted.window), names[0])


def offers_of(names: Sequence[Name]) -> list[dict[str, Any]]:
    """The tickers, each with its windows and the address of its page."""
    windows: dict[str, list[str]] = {}
    for name in names:
        windows.setdefault(name.ticker, []).append(name.window)
    return [
        {"ticker": ticker, "windows": each, "path": candles_path(ticker)}
        for ticker, each in windows.items()
    ]
