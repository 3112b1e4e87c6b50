"""Programs of clients/java beside the client of the compatibility table: one file each.

`java_program` runs one over Kafka's client and tools; `ecosystem_program` over those and Streams,
Connect and MirrorMaker as well. Below: tools.py.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.compat import tools

QUICK_START = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def java_program(name: str, classes: Path, flags: Sequence[str] = QUICK_START) -> list[str]:
    """Compile `clients/java/<name>.java` into `classes`: the command line that runs it."""
    command = tools.java(name, flags=flags)
    path = command.index("-cp") + 1
    command[path] = _compiled(name, classes, command[path])
    return command


def ecosystem_program(
    name: str, classes: Path, without: str = "", flags: Sequence[str] = QUICK_START
) -> list[str]:
    """The same over all jars of the ecosystem, but for one whose name begins with `without`."""
    jars = [
        jar for jar in tools.ecosystem_jars() if not without or not jar.name.startswith(without)
    ]
    class_path = _compiled(name, classes, ":".join(map(str, jars)))
    return ["java", *flags, "-cp", class_path, name]


def _compiled(name: str, classes: Path, class_path: str) -> str:
    source = tools.CLIENTS / "java" / f"{name}.java"
    subprocess.run(["javac", "-cp", class_path, "-d", str(classes), str(source)], check=True)
    return f"{classes}:{class_path}"
