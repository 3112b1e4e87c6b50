"""The candles of a ticker, as they move: open, high, low, close, average and count of each window.

The server keeps all candles, and sends a page those of the series that it shows: all of them when
one is chosen, and from then on those that have changed. The drawing is the browser's. The address
names ticker and window. Above: frame.py. Below: ../candles_poller.py, ../candles_choice.py,
web/candles.js.
"""

from dataclasses import astuple
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from kafkaesque.console.candles import TOPIC, Name, News
from kafkaesque.console.candles_choice import chosen, offers_of
from kafkaesque.console.candles_poller import CandlesPoller
from kafkaesque.console.pages.parts import Watch, title

INTERVAL_S = 0.25
DEFAULT_WINDOW = "1m"
NOT_ASKED = "Asking the cluster …"
NOT_THERE = (
    f"There is no topic {TOPIC} now. It is made, and this page goes on, when somebody runs:\n"
    "kafkaesque pipeline run stocks"
)
EMPTY = (
    f"The topic {TOPIC} has no candles yet: the first comes with the first ticks of a minute.\n"
    "Is the pipeline running? kafkaesque pipeline status"
)


class CandlePanel(Element, component="../web/candles.js"):
    """`ticker` and `window` are what the address asks for; without, it is the first that comes."""

    def __init__(self, poller: CandlesPoller, ticker: str | None, window: str | None) -> None:
        super().__init__()
        self._poller = poller
        self._wanted = Name(ticker or "", window or DEFAULT_WINDOW)
        self._shown: Name | None = None
        self._version = 0
        self._is_ready = False
        self._props["offers"] = []
        self._props["ticker"] = self._props["window"] = ""
        self._props["quiet"] = NOT_ASKED
        self._props["problem"] = ""
        self.on("ready", self._begin)
        self.on("choose", self._choose)
        ui.timer(INTERVAL_S, self._send)

    def _begin(self) -> None:
        """What is sent before the browser has the component would be lost."""
        self._is_ready, self._version = True, 0

    def _choose(self, event: GenericEventArguments) -> None:
        self._wanted = Name(str(event.args["ticker"]), str(event.args["window"]))
        self._send()

    def _send(self) -> None:
        if not self._is_ready:
            return
        offers = self._poller.candles.names
        name = chosen(offers, self._wanted)
        self._tell(
            offers=offers_of(offers),
            ticker=name.ticker,
            window=name.window,
            quiet=_why_empty(self._poller),
            problem=self._poller.problem or "",
        )
        if name != self._shown:
            self._shown, self._version = name, 0
        if news := self._poller.candles.news(name, self._version):
            self._version = news.version
            self.run_method("show", _message(name, news))

    def _tell(self, **props: Any) -> None:
        if any(self._props[name] != value for name, value in props.items()):
            for name, value in props.items():
                self._props[name] = value
            self.update()


def candles_page(
    poller: CandlesPoller, ticker: str | None = None, window: str | None = None
) -> None:
    title("Candles")
    Watch(poller)
    CandlePanel(poller, ticker, window)


def _why_empty(poller: CandlesPoller) -> str:
    if poller.is_there is None:
        return NOT_ASKED
    return EMPTY if poller.is_there else NOT_THERE


def _message(name: Name, news: News) -> dict[str, Any]:
    return {
        "ticker": name.ticker,
        "window": name.window,
        "replace": news.replace,
        "candles": [astuple(candle) for candle in news.candles],
    }
