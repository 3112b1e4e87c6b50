"""The windowed job on Pathway: run by peers.py, in an environment that has it."""

import json
import sys
import time
from typing import Any

import pathway as pw  # type: ignore[import-not-found]

MINUTE_MS = 60_000


class Tick(pw.Schema):  # type: ignore[misc]
    event_time: int
    ticker: str
    price: float


def main() -> None:
    brokers, topic = sys.argv[1:3]
    settings = {"bootstrap.servers": brokers, "group.id": "w", "auto.offset.reset": "earliest"}
    ticks = pw.io.kafka.read(settings, topic, schema=Tick, format="json", mode="static")
    windows = ticks.windowby(
        ticks.event_time, window=pw.temporal.tumbling(duration=MINUTE_MS), instance=ticks.ticker
    ).reduce(
        ticker=pw.this._pw_instance,
        start=pw.this._pw_window_start,
        count=pw.reducers.count(),
        open=pw.reducers.earliest(pw.this.price),
        high=pw.reducers.max(pw.this.price),
        low=pw.reducers.min(pw.this.price),
        close=pw.reducers.latest(pw.this.price),
        average=pw.reducers.avg(pw.this.price),
    )
    found: dict[Any, int] = {}

    def told(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        if is_addition:
            found[key] = row["count"]

    pw.io.subscribe(windows, on_change=told)
    begun = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.perf_counter() - begun
    done = {"seconds": seconds, "ticks": sum(found.values()), "windows": len(found)}
    sys.stdout.write(json.dumps(done) + "\n")


if __name__ == "__main__":
    main()
