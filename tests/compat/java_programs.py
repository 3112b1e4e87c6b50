"""Programs of clients/java beside the client of the compatibility table: one file each.

Above: test_java_transactions.py, crash/test_transactional_copy.py, benchmarks. Below: tools.py.
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
    source = tools.CLIENTS / "java" / f"{name}.java"
    subprocess.run(["javac", "-cp", command[path], "-d", str(classes), str(source)], check=True)
    command[path] = f"{classes}:{command[path]}"
    return command
