"""What is compared: Spark as it is by itself, with our settings, with all but one of them.

One JVM has them all in turns, so that none is warmer than another. It is started as
SparkSession.builder starts it, with Spark's own defaults, and each variant then has its settings in
it. What of ours only a start can change (no UI, Arrow without its checks) is left as Spark has it.
Above: spark_latency.py. Below: daemon.py.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.spark.daemon import CONNECTED, SETTLED, UNDONE
from pyspark.sql import SparkSession

from kafkaesque.pipelines.session import defaults, stop
from kafkaesque.pipelines.starting.java import find_java

MASTER = "local[2]"
KEPT_REPORTS = 10_000
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
SHUFFLE = "spark.sql.shuffle.partitions"
_SETTINGS = {
    name: value for name, value in defaults(MASTER).items() if name.startswith("spark.sql.")
}
"""Ours that can be changed while Spark runs. (Its `isModifiable` denies it of CHECKPOINTS.)"""
_ALL = frozenset(_SETTINGS)


@dataclass(frozen=True, slots=True)
class Variant:
    """`ours` are the names of our settings that it has; `undone` what its workers do not keep."""

    name: str
    source: str = "kafkaesque"
    ours: frozenset[str] = _ALL
    undone: Sequence[str] = field(default=())


PLAIN = Variant("Spark's defaults", ours=frozenset())
OURS = Variant("ours")
CONNECTOR = Variant("Spark's defaults, its own connector", "kafka", ours=frozenset())
WITHOUT = (
    Variant("Spark's checkpoint files", ours=_ALL - {CHECKPOINTS}),
    Variant("200 shuffle partitions", ours=_ALL - {SHUFFLE}),
    Variant("workers look at all they have loaded", undone=[SETTLED]),
    Variant("a connection for each task", undone=[CONNECTED]),
)
"""Ours, with one thing each as it would be without us."""

CAN_UNDO = {"spark.python.daemon.module": "benchmarks.spark.daemon"}
"""What a session needs whose variants have things undone in workers."""
_TOLD = {
    "spark.sql.streaming.numRecentProgressUpdates": str(KEPT_REPORTS),
    "spark.ui.showConsoleProgress": "false",
}
"""What is told, and how: no part of the comparison."""


class Sessions:
    """One session that becomes each of the variants."""

    def __init__(self, spark: SparkSession, undone: Path) -> None:
        self.spark = spark
        self._undone = undone

    def enter(self, variant: Variant) -> None:
        """Queries that are started from now on are the variant's."""
        for name, value in _SETTINGS.items():
            if name in variant.ours:
                self.spark.conf.set(name, value)
            else:
                self.spark.conf.unset(name)
        self._undone.write_text(" ".join(variant.undone))


@contextmanager
def started(config: Mapping[str, str], directory: Path) -> Iterator[Sessions]:
    """`config` comes on top of Spark's defaults."""
    undone = directory / "undone"
    undone.touch()
    os.environ |= {"JAVA_HOME": str(find_java().home), UNDONE: str(undone)}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("bench-latency").master(MASTER)
    for name, value in {**_TOLD, **config}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("OFF")
        yield Sessions(spark, undone)
    finally:
        stop(spark)
