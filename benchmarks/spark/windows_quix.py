"""The windowed job on Quix Streams: run by peers.py, in an environment that has it.

One process, without changelog topics. It has no end by itself: its time is from the first tick to
the last. A window comes out when a later tick of its partition closes it, so the last ones do not.
"""

import json
import sys
import tempfile
import time
from typing import Any

import orjson
from quixstreams import Application  # type: ignore[import-not-found]
from quixstreams.dataframe.windows import (  # type: ignore[import-not-found]
    Count,
    Earliest,
    Latest,
    Max,
    Mean,
    Min,
)

MINUTE_MS = 60_000
SILENT_S = 10.0


def event_time(value: Any, headers: Any, timestamp: int, timestamp_type: Any) -> int:
    moment: int = value["event_time"]
    return moment


def main() -> None:
    brokers, topic = sys.argv[1:3]
    moments: list[float] = []
    ticks, windows = 0, 0

    def taken(_: Any) -> None:
        nonlocal ticks
        if not ticks:
            moments.append(time.perf_counter())
        ticks += 1

    def closed(_: Any) -> None:
        nonlocal windows
        windows += 1

    with tempfile.TemporaryDirectory() as directory:
        app = Application(
            brokers,
            consumer_group=f"windows-{time.time_ns()}",
            auto_offset_reset="earliest",
            state_dir=directory,
            use_changelog_topics=False,
            loglevel="ERROR",
        )
        source = app.topic(topic, value_deserializer="bytes")
        frame = app.dataframe(source).apply(orjson.loads)
        frame = frame.set_timestamp(event_time).update(taken)
        window = frame.tumbling_window(MINUTE_MS, grace_ms=10_000).agg(
            count=Count(),
            open=Earliest("price"),
            high=Max("price"),
            low=Min("price"),
            close=Latest("price"),
            average=Mean("price"),
        )
        window.final().update(closed)
        app.run(timeout=SILENT_S, collect=False)
        ended = time.perf_counter() - SILENT_S
    done = {"seconds": ended - moments[0], "ticks": ticks, "windows": windows}
    sys.stdout.write(json.dumps(done) + "\n")


if __name__ == "__main__":
    main()
