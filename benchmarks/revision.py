"""The sources of a commit, to be measured beside those of the working tree."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def check_out(revision: str, directory: Path) -> Path:
    """The sources of a commit, without touching the working tree."""
    command = ["git", "archive", "--format=tar", revision, "src"]
    archive = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
    if archive.returncode:
        sys.exit(f"--baseline {revision}: no such commit here; `git log --oneline` lists them")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(directory, filter="data")
    return directory / "src"
