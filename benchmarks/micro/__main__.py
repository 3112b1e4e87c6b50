"""`python -m benchmarks.micro --baseline REV`: what an operation costs, and the ratio to a commit.

The sources as they are and those of the baseline are measured by the same cases, in turns, each
time in a new process; the best of all rounds counts. Below 1.00 is faster than the baseline.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.revision import ROOT, check_out

Figures = dict[str, float]


def measured(sources: Path) -> Figures:
    """The figures of a worker that imports kafkaesque from there."""
    command = [sys.executable, "-m", "benchmarks.micro.worker"]
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    figures: Figures = json.loads(done.stdout)
    return figures


def best(rounds: list[Figures]) -> Figures:
    return {
        name: min(figures[name] for figures in rounds if name in figures)
        for name in dict.fromkeys(name for figures in rounds for name in figures)
    }


def compare(revision: str | None, rounds: int) -> tuple[Figures, Figures]:
    ours: list[Figures] = []
    theirs: list[Figures] = []
    with tempfile.TemporaryDirectory() as directory:
        baseline = check_out(revision, Path(directory)) if revision else None
        for _ in range(rounds):
            ours.append(measured(ROOT / "src"))
            if baseline:
                theirs.append(measured(baseline))
    return best(ours), best(theirs)


def table(ours: Mapping[str, float], baseline: Mapping[str, float]) -> str:
    lines = [f"{'CPU ns per operation':44}{'now':>10}{'baseline':>10}{'ratio':>8}"]
    for name, now in ours.items():
        before = baseline.get(name)
        compared = f"{before:>10.0f}{now / before:>8.2f}" if before else f"{'–':>10}{'–':>8}"
        lines.append(f"{name:44}{now:>10.0f}{compared}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--baseline", metavar="REV", help="compare with this commit")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(table(*compare(arguments.baseline, arguments.rounds)))
