"""`python -m benchmarks`: Kafkaesque and Apache Kafka on this machine, in turns, as ratios.

Prints one table, and writes it with every sample to benchmarks/results/<UTC time>.json.
`--only rate,trip` measures a part, `--quick` less of each; `--write-docs` makes the page
docs/reference/performance.md of it. `--show FILE` measures nothing: it shows a run of before.
The route: runner.py → figures/ → subject.py → drive.py; then report.py → table.py, page.py.
"""

import argparse
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import machine
from benchmarks.figures.catalogue import FIGURES
from benchmarks.figures.figure import Figure
from benchmarks.page import PAGE, page
from benchmarks.peers.roster import PEERS, REFERENCE
from benchmarks.report import Report
from benchmarks.runner import Runner
from benchmarks.table import as_text
from tests.compat.tools import ToolMissingError

RESULTS = Path(__file__).parent / "results"
QUICK = 0.2
NAMES = ", ".join(figure.name for figure in FIGURES)


def chosen(only: str | None) -> list[Figure]:
    names = only.split(",") if only else [figure.name for figure in FIGURES]
    known = {figure.name: figure for figure in FIGURES}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no figure {', '.join(unknown)}: choose from {NAMES}")
    return [figure for figure in FIGURES if figure.name in names]


def take(figures: list[Figure], rounds: int | None, scale: float) -> Report:
    """Measure, and keep what was measured even if the run ends early."""
    taken, start = datetime.now(UTC), time.monotonic()
    versions = {name: said for peer in PEERS for name, said in peer.versions().items()}
    with tempfile.TemporaryDirectory(prefix="kafkaesque-bench-") as directory:
        machine.require_disk(Path(directory))
        machine.allow_files()
        runner = Runner(PEERS, REFERENCE, Path(directory), rounds, scale)
        try:
            runner.run(figures)
        finally:
            report = Report(
                taken=f"{taken:%Y-%m-%dT%H:%M:%SZ}",
                command=" ".join(["python -m benchmarks", *sys.argv[1:]]),
                seconds=time.monotonic() - start,
                versions={**versions, **machine.versions()},
                variants=tuple(variant.name for peer in PEERS for variant in peer.variants),
                reference=REFERENCE.name,
                rows=runner.collection.rows(),
            )
            print(f"kept in {keep(report)}", file=sys.stderr)
    return report


def keep(report: Report) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{report.taken.replace(':', '-')}.json"
    path.write_text(report.to_json())
    return path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help=f"figures to measure, with commas: {NAMES}")
    parser.add_argument("--rounds", type=int, help="of each figure, instead of its own number")
    parser.add_argument("--quick", action="store_true", help="a fifth of each load")
    parser.add_argument("--write-docs", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--show", type=Path, metavar="FILE", help="a result of before")
    return parser.parse_args()


def main() -> None:
    told = arguments()
    if told.show:
        report = Report.from_json(told.show.read_text())
    else:
        report = take(chosen(told.only), told.rounds, QUICK if told.quick else 1.0)
    print(as_text(report))
    if told.write_docs:
        PAGE.write_text(page(report))


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # As Ctrl-C does: whoever ends this ends the brokers, too.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        main()
    except (machine.DiskError, ToolMissingError) as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
