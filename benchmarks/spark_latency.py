"""`python -m benchmarks.spark_latency`: how late a record is, with our settings and with Spark's.

A broker of ours, a topic with 20 ticks a second, and queries beside it, one at a time
(spark/queries.py). Told are a batch, from the question for new records to the commit in the
checkpoint, and a record, from the producer to where the query has put it out.

    Spark's defaults    what SparkSession.builder makes, with our source, and the same with Spark's
                        own JVM connector
    ours                the settings of our session, as far as they can be changed while Spark runs
                        (spark/sessions.py), with our source

In one JVM, in turns, after a round that is not counted. With --each it is ours beside ours with one
thing at a time as it would be without us: what each gives.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, median

from benchmarks.machine import versions
from benchmarks.spark.flow import RATE, Flow
from benchmarks.spark.lateness import Lateness, p95
from benchmarks.spark.queries import LAKE, Measure, Stage, measures
from benchmarks.spark.sessions import (
    CAN_UNDO,
    CONNECTOR,
    MASTER,
    OURS,
    PLAIN,
    WITHOUT,
    Variant,
    started,
)
from benchmarks.spark.ticks import PARTITIONS
from scripts.spark_connector import JARS, connector_jars
from tests.broker_process import BrokerProcess

from kafkaesque.pipelines.starting.java import find_java

Found = dict[str, dict[str, Lateness]]
"""By query and variant."""
HEADS = (
    *("query", "settings", "batch", "p95", "ratio", "checkpoint", "tasks"),
    *("record", "p95", "ratio"),
)


def measure(
    variants: Sequence[Variant], queries: Mapping[str, Measure], args: argparse.Namespace
) -> Found:
    found: Found = {
        query: {each.name: Lateness() for each in variants if can_play(each, query)}
        for query in queries
    }
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
        Flow(broker.bootstrap) as flow,
        started(config_of(args), Path(directory)) as session,
    ):
        stage = Stage(session.spark, broker.bootstrap, flow, args.warm, args.seconds)
        for number in range(args.rounds + 1):
            for query, play in queries.items():
                for variant in variants[:: -1 if number % 2 else 1]:
                    if not can_play(variant, query):
                        continue
                    session.enter(variant)
                    taken = play(stage, variant.source)
                    tell(f"round {number}, {query}, {variant.name}", taken)
                    if number:
                        found[query][variant.name].add(taken)
    return found


def config_of(args: argparse.Namespace) -> Mapping[str, str]:
    if args.each:
        return CAN_UNDO
    return {"spark.driver.extraClassPath": ":".join(map(str, connector_jars()))}


def can_play(variant: Variant, query: str) -> bool:
    """The archive reads with our source, and with no other."""
    return variant.source == OURS.source or not is_among(query, LAKE)


def is_among(query: str, kinds: str) -> bool:
    return query.partition(",")[0] in kinds.split(",")


def tell(head: str, taken: Lateness) -> None:
    sys.stdout.write(
        f"{head}: {len(taken.batches_ms)} batches of {median(taken.batches_ms):,.0f} ms, "
        f"{len(taken.records_ms)} records late by {median(taken.records_ms):,.0f} ms\n"
    )
    sys.stdout.flush()


def as_markdown(found: Found, reference: str) -> str:
    """A line for each query and variant, in ms: medians and p95, and of a batch what it spends on
    the checkpoint's files, and how many tasks it has; `ratio` is how many times as fast as the
    reference."""
    lines = [f"| {' | '.join(HEADS)} |", f"| --- | --- {'| --: ' * (len(HEADS) - 2)}|"]
    for query, by_variant in found.items():
        beside = by_variant[reference]
        for name, taken in by_variant.items():
            batch = _cells(taken.batches_ms, beside.batches_ms)
            record = _cells(taken.records_ms, beside.records_ms)
            files = f"{median(taken.checkpoints_ms):,.0f}"
            tasks = f"{fmean(taken.tasks):.1f}"
            lines.append(f"| {query} | {name} | {batch} | {files} | {tasks} | {record} |")
    return "\n".join(lines)


def _cells(values_ms: Sequence[float], beside_ms: Sequence[float]) -> str:
    middle_ms = median(values_ms)
    ratio = median(beside_ms) / middle_ms
    return f"{middle_ms:,.0f} | {p95(values_ms):,.0f} | {ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="that count, of each turn")
    parser.add_argument("--warm", type=float, default=5, help="seconds before them, at least")
    parser.add_argument("--interval", type=float, default=1, help="the lake's other one, in s")
    parser.add_argument("--only", help="some of the queries: stateless,grouped,lake")
    parser.add_argument("--each", action="store_true", help="what each of our choices gives")
    args = parser.parse_args()
    queries = {
        query: play
        for query, play in measures(args.interval).items()
        if args.only is None or is_among(query, args.only)
    }
    if not queries:
        parser.error(f"--only {args.only} names none of stateless, grouped, lake")
    variants = (OURS, *WITHOUT) if args.each else (PLAIN, OURS, CONNECTOR)
    found = measure(variants, queries, args)
    sys.stdout.write(f"{as_markdown(found, variants[0].name)}\n")
    told = {"pyspark": version("pyspark"), "java": find_java().version, **versions()}
    jars = "" if args.each else f"; {', '.join(JARS)}"
    sys.stdout.write(f"{RATE} ticks/s, {PARTITIONS} partitions, {MASTER}{jars}\n")
    sys.stdout.write(", ".join(f"{name} {value}" for name, value in told.items()) + "\n")


if __name__ == "__main__":
    main()
