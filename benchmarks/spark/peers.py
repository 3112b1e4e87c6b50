"""Other stream processors for Python, each in a virtual environment of its own, made when needed.

Each has a program beside this file, which does the windowed job on a topic and says in one line of
JSON how long it took, how many ticks it took in and how many windows came out.
"""

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / ".tools"


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    packages: tuple[str, ...]
    program: str


@dataclass(frozen=True, slots=True)
class Done:
    seconds: float
    ticks: int
    windows: int


PEERS = (
    Peer("Bytewax 0.21", ("bytewax==0.21.1", "confluent-kafka", "orjson"), "windows_bytewax.py"),
    Peer("Pathway 0.33", ("pathway==0.33.0",), "windows_pathway.py"),
    Peer("Quix Streams 3.28", ("quixstreams==3.28.*", "orjson"), "windows_quix.py"),
)


class PeerError(Exception):
    """A peer did not do its work; the message has what it said."""


def python_of(peer: Peer) -> Path:
    """Its interpreter, made if it is not there yet."""
    directory = TOOLS / "peers" / peer.packages[0].replace("=", "-").replace("*", "x")
    python = directory / "bin" / "python"
    done = directory / "done"
    if not done.exists():
        venv.create(directory, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *peer.packages]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        done.touch()
    return python


def run(peer: Peer, brokers: str, topic: str) -> Done:
    """Raises PeerError."""
    program = Path(__file__).with_name(peer.program)
    command = [str(python_of(peer)), str(program), brokers, topic]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("{")]
    if ran.returncode or not lines:
        raise PeerError(f"{peer.name} failed: {ran.stdout[-1000:]}{ran.stderr[-3000:]}")
    return Done(**json.loads(lines[-1]))


if __name__ == "__main__":
    for each in PEERS:
        sys.stdout.write(f"{each.name}: {python_of(each)}\n")
