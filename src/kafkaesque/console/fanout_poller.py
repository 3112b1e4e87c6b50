"""Asks a fan-out how it is, once a second, for all browsers that look at its page, and else never.

A page watches while it is open. An answer that does not come is a state like any other: the last
figures stay, `problem` says what is wrong, and the next answer may be a good one.
Above: pages/fanout.py. Below: fanout_figures.py, the fan-out's /stats.
"""

import asyncio
import time
from collections.abc import Hashable
from dataclasses import dataclass

import httpx

from kafkaesque.console.fanout_figures import FanoutHistory, Figures

EVERY_S = 1.0
PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True)
class FanoutView:
    """What the page draws. `version` grows with every answer, and with every one that fails."""

    version: int = 0
    figures: Figures | None = None
    problem: str | None = None
    delivered_rate: float | None = None
    latency_p50_ms: float | None = None
    latency_p99_ms: float | None = None


class FanoutPoller:
    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.view = FanoutView()
        self._history = FanoutHistory()
        self._watchers: set[Hashable] = set()
        self._task: asyncio.Task[None] | None = None

    def watch(self, watcher: Hashable) -> None:
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            # What was seen before everybody left is no longer how it is.
            self._history.clear()
            self.view = FanoutView(version=self.view.version + 1)
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def unwatch(self, watcher: Hashable) -> None:
        self._watchers.discard(watcher)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    def stop(self) -> None:
        for watcher in list(self._watchers):
            self.unwatch(watcher)

    async def _poll(self) -> None:
        # A proxy of the environment is for the world outside.
        async with httpx.AsyncClient(timeout=PATIENCE_S, trust_env=False) as client:
            while True:
                try:
                    answer = await client.get(f"{self.url}/stats")
                    stats = answer.raise_for_status().json()
                    if not isinstance(stats, dict):
                        raise ValueError("what it says is not what a fan-out says")
                except (httpx.HTTPError, ValueError) as error:
                    self._miss(_why(error))
                else:
                    self._see(Figures(time.monotonic(), int(time.time() * 1000), stats))
                await asyncio.sleep(EVERY_S)

    def _see(self, figures: Figures) -> None:
        self._history.add(figures)
        self.view = FanoutView(
            version=self.view.version + 1,
            figures=figures,
            delivered_rate=self._history.rate("delivered"),
            latency_p50_ms=self._history.latency_ms(0.5),
            latency_p99_ms=self._history.latency_ms(0.99),
        )

    def _miss(self, reason: str) -> None:
        self._history.clear()
        self.view = FanoutView(
            version=self.view.version + 1,
            figures=self.view.figures,
            problem=f"The fan-out at {self.url} does not answer ({reason}). Still trying: start it "
            "with `kafkaesque fanout`, or name another with --fanout.",
        )


def _why(error: Exception) -> str:
    if isinstance(error, httpx.ConnectError) and "SSL" not in str(error):
        return "nothing listens there"
    if isinstance(error, httpx.TimeoutException):
        return f"nothing came within {PATIENCE_S:g} s"
    if isinstance(error, httpx.HTTPStatusError):
        return f"status {error.response.status_code}"
    return str(error) or type(error).__name__
