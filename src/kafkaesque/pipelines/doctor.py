"""What pipelines will run on, whether it fits together, and what is missing.

Looking loads no package: a version is read from what pip has written down. `run` is the proof: it
makes the AOT cache if the Java can have one, starts a session, and runs a small job.
Above: cli/pipeline/doctor.py. Below: java.py, command.py, aot.py, session.py.
"""

import platform
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING

from kafkaesque.pipelines.session import MISSING, defaults, session, stop
from kafkaesque.pipelines.starting import aot
from kafkaesque.pipelines.starting.caches import SessionError, cache_directory
from kafkaesque.pipelines.starting.command import is_plain, jvm_command
from kafkaesque.pipelines.starting.java import Java, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[*]"

# The oldest version that fits, and the first one that no longer does.
PACKAGES: dict[str, tuple[tuple[int, ...], tuple[int, ...] | None]] = {
    "pyspark": ((4, 3), (4, 4)),
    "pyarrow": ((18,), None),
    "pandas": ((2, 2), (3,)),
    "numba": ((0, 61), None),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that pipelines need. `problem` names the cause and the cure."""

    name: str
    version: str | None
    place: str | None
    note: str = ""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    seconds: float


def look() -> list[Finding]:
    python = Finding("python", platform.python_version(), sys.executable)
    return [python, *map(_package, PACKAGES), *_java()]


def run() -> Iterator[Step]:
    """Start Spark and use it, a step at a time."""
    java = find_java()
    command = jvm_command(java, defaults(MASTER)) if is_plain(MASTER) else None
    if command and aot.cache_file(java, command) and not aot.is_taken(java, command):
        begun = time.monotonic()
        aot.make(java, command)
        yield Step("AOT cache, made once", time.monotonic() - begun)
    begun = time.monotonic()
    spark = session("doctor", MASTER)
    try:
        yield Step("session", time.monotonic() - begun)
        begun = time.monotonic()
        if spark.range(1000).selectExpr("sum(id) AS total").collect()[0]["total"] != 499_500:
            raise SessionError("Spark's sum is wrong: is the installation damaged?")
        yield Step("first job", time.monotonic() - begun)
        begun = time.monotonic()
        _count_in_python(spark)
        yield Step("first job in Python", time.monotonic() - begun)
    finally:
        begun = time.monotonic()
        stop(spark)
    yield Step("stop", time.monotonic() - begun)


def fits(name: str, version: str) -> bool:
    oldest, too_new = PACKAGES[name]
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    return numbers >= oldest and (too_new is None or numbers < too_new)


def _package(name: str) -> Finding:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return Finding(name, None, None, problem=f"{name} is not installed: {MISSING}")
    place = str(found.locate_file(name))
    if fits(name, found.version):
        return Finding(name, found.version, place)
    problem = f"{name} {found.version} does not fit, {_wanted(name)} does: {MISSING}"
    return Finding(name, found.version, place, problem=problem)


def _wanted(name: str) -> str:
    oldest, too_new = PACKAGES[name]
    text = f"{name} {'.'.join(map(str, oldest))} or newer"
    return text if too_new is None else f"{text}, below {'.'.join(map(str, too_new))},"


def _java() -> Iterator[Finding]:
    try:
        java = find_java()
    except SessionError as error:
        yield Finding("java", None, None, problem=str(error))
        return
    note = "; ".join([f"from {java.origin}", *(f"not {reason}" for reason in java.passed_over)])
    yield Finding("java", java.version, str(java.executable), note)
    yield Finding("caches", None, str(cache_directory()), _cache_note(java))


def _cache_note(java: Java) -> str:
    if java.release < aot.OLDEST:
        return f"no AOT cache: Java {aot.OLDEST} or newer has one, and starts Spark faster"
    if _package("pyspark").version is None:
        return ""
    if not is_plain(MASTER):
        return "no AOT cache: Spark's own scripts start the JVM, for there are settings of yours"
    command = jvm_command(java, defaults(MASTER))
    if command and aot.is_taken(java, command):
        return "AOT cache there"
    return "no AOT cache yet: `kafkaesque pipeline doctor --run` makes it"


def _count_in_python(spark: "SparkSession") -> None:
    from pyspark.sql import functions as sql

    @sql.udf("long", useArrow=True)
    def successor(number: int) -> int:
        return number + 1

    total = spark.range(1000).select(sql.sum(successor("id")).alias("total")).collect()[0]["total"]
    if total != 500_500:
        raise SessionError("a function in Python gives a wrong sum: is the installation damaged?")
