"""Spark's classes loaded ahead of time: a cache for the JVM, made once, where the Java can.

From Java 25 on, a JVM can write the classes it has loaded to a file when it ends
(-XX:AOTCacheOutput) and another one can begin with them (-XX:AOTCache). The file is made by
`make`, which runs rehearsal.py in a process of its own; it is for one Java, one PySpark and one
set of options. The JVM looks at the file before it takes it, and goes on without one that is cut
short or meant for another; if it dies of one, the file goes, and a JVM without it is started.
Above: session.py, doctor.py. Below: jvm.py, rehearsal.py.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafkaesque.pipelines.starting import jvm
from kafkaesque.pipelines.starting.caches import SessionError, cache_directory, key
from kafkaesque.pipelines.starting.java import Java

OLDEST = 25
MAKE_S = 300.0


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


def make(java: Java, command: Sequence[str]) -> Path | None:
    """Make the cache, in half a minute or so; None if the Java has no such thing."""
    file = cache_file(java, command)
    if file is None:
        return None
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".aot-") as directory:
        made = Path(directory) / file.name
        try:
            done = subprocess.run(
                [sys.executable, "-m", "kafkaesque.pipelines.starting.rehearsal", made],
                env={**os.environ, "JAVA_HOME": str(java.home)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=MAKE_S,
            )
        except subprocess.TimeoutExpired:
            raise SessionError(f"the cache {file} was not made within {MAKE_S:.0f} s") from None
        if done.returncode or not made.is_file():
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise SessionError(f"the cache {file} could not be made: {reason}")
        made.replace(file)
    return file
