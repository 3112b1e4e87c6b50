"""The windowed job on Bytewax: run by peers.py, in an environment that has it.

One process: it is the interpreter that is busy, and threads of one share that.
"""

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op  # type: ignore[import-not-found]
import orjson
from bytewax.connectors.kafka import KafkaSource  # type: ignore[import-not-found]
from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]
from bytewax.operators import windowing
from bytewax.testing import TestingSink, run_main  # type: ignore[import-not-found]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(tick: dict[str, Any]) -> datetime:
    return EPOCH + timedelta(milliseconds=tick["event_time"])


def empty() -> list[float]:
    """count, open, high, low, close, sum"""
    return [0, 0.0, float("-inf"), float("inf"), 0.0, 0.0]


def add(candle: list[float], tick: dict[str, Any]) -> list[float]:
    price = tick["price"]
    if not candle[0]:
        candle[1] = price
    candle[0] += 1
    candle[2] = max(candle[2], price)
    candle[3] = min(candle[3], price)
    candle[4] = price
    candle[5] += price
    return candle


def merge(one: list[float], other: list[float]) -> list[float]:
    raise AssertionError("tumbling windows are never merged")


def average(candle: tuple[str, tuple[int, list[float]]]) -> list[float]:
    found = candle[1][1]
    return [*found[:5], found[5] / found[0]]


def main() -> None:
    brokers, topic = sys.argv[1:3]
    closed: list[list[float]] = []
    flow = Dataflow("windows")
    records = op.input("in", flow, KafkaSource([brokers], [topic], tail=False, batch_size=10_000))
    ticks = op.map("json", records, lambda record: orjson.loads(record.value))
    keyed = op.key_on("ticker", ticks, lambda tick: tick["ticker"])
    clock = windowing.EventClock(moment, wait_for_system_duration=timedelta(seconds=10))
    windower = windowing.TumblingWindower(align_to=EPOCH, length=timedelta(minutes=1))
    windows = windowing.fold_window("window", keyed, clock, windower, empty, add, merge)
    op.output("out", op.map("average", windows.down, average), TestingSink(closed))
    begun = time.perf_counter()
    run_main(flow)
    seconds = time.perf_counter() - begun
    done = {"seconds": seconds, "ticks": sum(int(each[0]) for each in closed)}
    sys.stdout.write(json.dumps({**done, "windows": len(closed)}) + "\n")


if __name__ == "__main__":
    main()
