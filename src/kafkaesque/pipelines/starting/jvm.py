"""Spark's JVM, started directly: one process in place of two shells and two JVMs.

The JVM lives as long as its stdin is open. The other end is the driver's alone, so it ends however
the driver does: by `stop`, by Ctrl-C, by kill -9. It has a process group of its own, so that a
Ctrl-C at the terminal reaches the driver, and not the JVM in the middle of its work.

The file in which it says where it listens:
    int32 port | int32 length of the secret | secret
Above: session.py. Below: command.py, aot.py.
"""

import struct
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkaesque.pipelines.starting.caches import SessionError
from kafkaesque.pipelines.starting.command import MAIN, environment
from kafkaesque.pipelines.starting.java import Java

LOGGING = Path(__file__).with_name("log4j2.properties")
START_S = 180.0
END_S = 15.0
_PERIOD_S = 0.02


@dataclass(frozen=True, slots=True)
class Jvm:
    process: subprocess.Popen[bytes]
    port: int
    secret: str


def start(java: Java, command: Sequence[str], config: Mapping[str, str]) -> Jvm:
    settings = [word for name, value in config.items() for word in ("--conf", f"{name}={value}")]
    with tempfile.TemporaryDirectory(prefix="kafkaesque-jvm-") as directory:
        address = Path(directory) / "address"
        process = subprocess.Popen(
            [*command, f"-Dlog4j2.configurationFile={LOGGING}", MAIN, *settings, "pyspark-shell"],
            stdin=subprocess.PIPE,
            env={**environment(java), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(address)},
            process_group=0,
        )
        try:
            port, secret = _wait(process, address)
        except BaseException:
            end(process, within_s=0)
            raise
    return Jvm(process, port, secret)


def end(process: subprocess.Popen[bytes], within_s: float = END_S) -> None:
    """Let it end by itself; if it does not in time, end it."""
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], address: Path) -> tuple[int, str]:
    deadline = time.monotonic() + START_S
    while not address.is_file():  # It is moved there when it is whole.
        if process.poll() is not None:
            raise SessionError(
                f"Java ended with exit code {process.returncode} before Spark was up: its reason "
                "is above; `kafkaesque pipeline doctor` says which Java it is"
            )
        if time.monotonic() > deadline:
            raise SessionError(
                f"Spark's JVM was not up after {START_S:.0f} s: is the machine short of memory?"
            )
        time.sleep(_PERIOD_S)
    port, length = struct.unpack_from(">ii", data := address.read_bytes())
    return port, data[8 : 8 + length].decode()
