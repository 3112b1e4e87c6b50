"""Foreign servers, unpacked under the git-ignored `.tools/` at their first use, like the foreign
clients of tests/compat/tools.py: no root, no service started, nothing in our own environment."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.compat.tools import TOOLS, ToolMissingError


def unpacked(name: str, content: str, unpack: Callable[[Path], None]) -> Path:
    """The directory of a server; `content` says what is in it, and another one is unpacked anew."""
    directory = TOOLS / name
    ready = directory / ".ready"
    if not ready.exists() or ready.read_text() != content:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        unpack(directory)
        ready.write_text(content)
    return directory


def run(command: list[str], directory: Path) -> None:
    if shutil.which(command[0]) is None:
        raise ToolMissingError(f"{command[0]} is not on the PATH")
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr)[-1000:]
        raise ToolMissingError(f"`{' '.join(command)}` failed with {done.returncode}:\n{said}")
