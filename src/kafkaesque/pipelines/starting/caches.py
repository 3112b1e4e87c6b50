"""Where pipelines keep what is made once and used again: a directory of the user's own.

    $XDG_CACHE_HOME/kafkaesque/spark, else ~/.cache/kafkaesque/spark
        java-<key>/bin/java     our launcher of a Java that lacks modules (launcher.py)
        command-<key>           how Spark starts its JVM (command.py)
        jvm-<key>.aot           classes loaded ahead of time (aot.py)
        crash-<pid>.log         what Java wrote when it crashed with such classes

All of it can be deleted at any time. Files appear whole or not at all, so that processes which
make the same one at the same time do not disturb each other.
Above: launcher.py, command.py, aot.py.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kafkaesque.errors import StartError


class SessionError(StartError):
    """Spark cannot be started; the message names the cause and the cure."""


def cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    given = (os.environ if environ is None else environ).get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "kafkaesque" / "spark"


def key(*parts: object) -> str:
    """A short name for what a cached file depends on."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def write_whole(path: Path, text: str, mode: int = 0o600) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        raise SessionError(
            f"the cache directory {path.parent} cannot be written ({error.strerror}): "
            "make it writable, or set XDG_CACHE_HOME to a directory that is"
        ) from error
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
