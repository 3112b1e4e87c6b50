"""Spark's classes loaded ahead of time: a cache for the JVM, made once, where the Java can.

From Java 25 on, a JVM can write the classes it has loaded to a file when it ends
(-XX:AOTCacheOutput) and another one can begin with them (-XX:AOTCache). The file is made by
`make`, which runs rehearsal.py in a process of its own; it is for one Java, one PySpark and one
set of options. The JVM looks at the file before it takes it, and goes on without one that is cut
short or meant for another; if it dies of one, the file goes, and a JVM without it is started.
Above: session.py, doctor.py, preparing.py. Below: jvm.py, rehearsal.py.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafkaesque.pipelines.starting import jvm
from kafkaesque.pipelines.starting.caches import SessionError, cache_directory, key
from kafkaesque.pipelines.starting.java import Java

OLDEST = 25
MAKE_S = 300.0
BESIDE_S = 1200.0
"""At the lowest priority it may have to wait."""


def cache_file(java: Java, command: Sequence[str]) -> Path | None:
    """Where the cache for a command is, or would be; None if the Java has no such thing."""
    if java.release < OLDEST:
        return None
    import pyspark

    words = [word for word in command if not word.startswith(("-Xmx", "-Xms"))]
    return cache_directory() / f"jvm-{key(java.version, pyspark.__version__, *words)}.aot"


def options(java: Java, command: Sequence[str]) -> list[str]:
    """What lets a JVM begin with the cache, if there is one."""
    file = cache_file(java, command)
    if file is None or not file.is_file():
        return []
    # What the JVM says of a file that it does not take is of no use to anybody.
    quiet = ["-Xlog:aot*=off", "-Xlog:cds*=off"]
    return [f"-XX:AOTCache={file}", *quiet, f"-XX:ErrorFile={file.parent}/crash-%p.log"]


def start(java: Java, command: Sequence[str], config: Mapping[str, str]) -> jvm.Jvm:
    """Start a JVM with the cache; without, and without the file, if that does not go well."""
    if not (given := options(java, command)):
        return jvm.start(java, command, config)
    try:
        return jvm.start(java, [*command, *given], config)
    except SessionError:  # Damage in the middle of the file is not noticed: the JVM crashes.
        if file := cache_file(java, command):
            file.unlink(missing_ok=True)
        return jvm.start(java, command, config)


def is_taken(java: Java, command: Sequence[str]) -> bool:
    """Whether the cache is there and the JVM takes it."""
    if not (given := options(java, command)):
        return False
    asked = [*command, *given, "-XX:AOTMode=on", "-version"]
    done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode == 0


def make(java: Java, command: Sequence[str], over: threading.Event | None = None) -> Path | None:
    """Make the cache, in half a minute or so; None if the Java has no such thing.

    With `over` it is made beside other work: at the lowest priority, and given up when that is set.
    """
    file = cache_file(java, command)
    if file is None:
        return None
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".aot-") as directory:
        made = Path(directory) / file.name
        rehearsal = [sys.executable, "-m", "kafkaesque.pipelines.starting.rehearsal", str(made)]
        with (Path(directory) / "said").open("w+") as said:
            process = subprocess.Popen(
                rehearsal if over is None else [*rehearsal, "beside"],
                env={**os.environ, "JAVA_HOME": str(java.home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
            try:
                _await(process, over)
            except subprocess.TimeoutExpired:
                raise SessionError(f"the cache {file} was not made in time") from None
            finally:
                process.kill()
                process.wait()
            if over is not None and over.is_set():
                return None
            if process.returncode or not made.is_file():
                said.seek(0)
                reason = (said.read().strip().splitlines() or ["no reason given"])[-1]
                raise SessionError(f"the cache {file} could not be made: {reason}")
        made.replace(file)
    return file


def _await(process: "subprocess.Popen[bytes]", over: threading.Event | None) -> None:
    if over is None:
        process.wait(MAKE_S)
        return
    until = time.monotonic() + BESIDE_S
    while process.poll() is None and not over.wait(0.2):
        if time.monotonic() > until:
            raise subprocess.TimeoutExpired(process.args, BESIDE_S)
