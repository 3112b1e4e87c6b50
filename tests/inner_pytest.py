"""pytest in a process of its own, as a user of the plugin runs it: with files of theirs alone."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TIMEOUT_S = 280


def run_pytest(directory: Path, files: Mapping[str, str], *arguments: str) -> str:
    """Write these files and run pytest beside them: what it says."""
    for name, text in files.items():
        (directory / name).write_text(text)
    # What this run of pytest has put there is not for that one.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return done.stdout + done.stderr
