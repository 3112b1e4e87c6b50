"""What a query has read in each of its batches, from its own checkpoint.

Before a batch runs, Spark writes offsets/<number>, and when it is done, commits/<number>:

    v1
    {"batchWatermarkMs":1700000159000,"batchTimestampMs":…,"conf":{…}}
    {"stock_json_topic": {"0": 135, "1": 0}}       where the batch ends: a line for each source,
    {"stock_avro_topic": {"0": 130}}               in the order of the query; "-" if it has none

A batch begins where the one before it ended. What is late in it is judged by the watermark of the
one before it as well: its own only says which windows are closed (as long as Spark's
spark.sql.streaming.statefulOperator.allowMultiple is on, as it is by itself). Spark keeps the last
hundred batches. Topics are taken to be read by one source each. Files are read
through Hadoop, so that a checkpoint may be wherever Spark can write.
Above: late.py. Below: source/standing.py.
"""

import json
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from kafkaesque.pipelines.source.offsets import Offsets
from kafkaesque.pipelines.source.standing import Standing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VERSION = "v1"
_NONE = "-"


class CheckpointError(Exception):
    """A checkpoint does not say what it should."""


@dataclass(frozen=True, slots=True)
class Logged:
    """One file of offsets/."""

    watermark_ms: int = 0
    ends: tuple[Standing, ...] = ()
    """One for each source."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Of all sources together. A partition without a start is new, and read from its beginning.
    Rows of windows that ended by `late_ms` were left out."""

    number: int
    start: Offsets
    end: Offsets
    late_ms: int


def parse(text: str) -> Logged:
    """Raises CheckpointError."""
    version, _, rest = text.strip().partition("\n")
    if version != _VERSION:
        raise CheckpointError(
            f"offsets of a checkpoint are of version {version!r}, not {_VERSION}: "
            "this Spark is not one that Kafkaesque knows"
        )
    try:
        head, *ends = rest.split("\n")
        watermark_ms = int(json.loads(head)["batchWatermarkMs"])
        return Logged(watermark_ms, tuple(map(_standing, ends)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"offsets of a checkpoint cannot be read: {text[:80]!r}") from error


def between(number: int, before: Logged, logged: Logged) -> Batch:
    """The batch that ends as `logged` says, after the one that ended as `before` does."""
    start: Offsets = {}
    end: Offsets = {}
    for then, now in zip_longest(before.ends, logged.ends, fillvalue=Standing()):
        start |= now.start(then)
        end |= now.offsets
    return Batch(number, start, end, before.watermark_ms)


class Checkpoint:
    """The checkpoint of one query."""

    def __init__(self, spark: "SparkSession", location: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._jvm = jvm
        self._root = jvm.org.apache.hadoop.fs.Path(location)
        jsc: Any = spark.sparkContext._jsc
        self._files = self._root.getFileSystem(jsc.hadoopConfiguration())

    def finished(self) -> list[int]:
        """The batches that are done, as many as are kept."""
        return self._numbers("commits")

    def batch(self, number: int) -> Batch | None:
        """None if it is not kept any more."""
        logged = self._text(f"offsets/{number}")
        before = self._text(f"offsets/{number - 1}") if number else None
        if logged is None or (number and before is None):
            return None
        return between(number, parse(before) if before else Logged(), parse(logged))

    def noted(self, name: str) -> int | None:
        """A number that `note` has kept with the checkpoint; None if there is none."""
        text = self._text(name)
        return int(text) if text and text.strip().isdecimal() else None

    def note(self, name: str, number: int) -> None:
        stream = self._files.create(self._path(name), True)
        try:
            stream.write(bytearray(f"{number}\n".encode()))
        finally:
            stream.close()

    def _numbers(self, directory: str) -> list[int]:
        path = self._path(directory)
        if not self._files.exists(path):
            return []
        names = [each.getPath().getName() for each in self._files.listStatus(path)]
        return sorted(int(name) for name in names if name.isdecimal())

    def _text(self, name: str) -> str | None:
        path = self._path(name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)


def _standing(line: str) -> Standing:
    return Standing() if line.strip() == _NONE else Standing.of(json.loads(line))
