"""`python -m benchmarks`: Kafkaesque and Apache Kafka on this machine, in turns, as ratios.

Prints one table, and writes it with every sample to benchmarks/results/<UTC time>.json.
`--only rate,trip` measures a part, `--quick` less of each; `--write-docs` makes the page
docs/reference/performance.md of it. `--show FILE` measures nothing: it shows a run of before.
`--baseline REV` lets Kafkaesque of that commit race in Kafka's place.
The route: runner.py → figures/ → subject.py → drive.py; then report.py → table.py, page.py.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import machine
from benchmarks.figures.catalogue import FIGURES
from benchmarks.figures.figure import Figure
from benchmarks.page import PAGE, page
from benchmarks.peers.baseline import BEFORE, baseline
from benchmarks.peers.kafkaesque import CACHED, DURABLE, KAFKAESQUE
from benchmarks.peers.peer import Peer, Variant
from benchmarks.peers.roster import PEERS, REFERENCE
from benchmarks.report import Report
from benchmarks.revision import check_out
from benchmarks.runner import Runner
from benchmarks.table import as_text
from tests.compat.tools import ToolMissingError

NOW = (DURABLE, CACHED)
RESULTS = Path(__file__).parent / "results"
QUICK = 0.2
NAMES = ", ".join(figure.name for figure in FIGURES)


def chosen(only: str | None) -> list[Figure]:
    names = only.split(",") if only else [figure.name for figure in FIGURES]
    known = {figure.name: figure for figure in FIGURES}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no figure {', '.join(unknown)}: choose from {NAMES}")
    return [figure for figure in FIGURES if figure.name in names]


def take(
    figures: list[Figure],
    rounds: int | None,
    scale: float,
    peers: Sequence[Peer] = PEERS,
    reference: Variant = REFERENCE,
) -> Report:
    """Measure, and keep what was measured even if the run ends early."""
    taken, start = datetime.now(UTC), time.monotonic()
    versions = {name: said for peer in peers for name, said in peer.versions().items()}
    with tempfile.TemporaryDirectory(prefix="kafkaesque-bench-") as directory:
        machine.require_disk(Path(directory))
        machine.allow_files()
        runner = Runner(peers, reference, Path(directory), rounds, scale)
        try:
            runner.run(figures)
        finally:
            report = Report(
                taken=f"{taken:%Y-%m-%dT%H:%M:%SZ}",
                command=" ".join(["python -m benchmarks", *sys.argv[1:]]),
                seconds=time.monotonic() - start,
                versions={**versions, **machine.versions()},
                variants=tuple(variant.name for peer in peers for variant in peer.variants),
                reference=reference.name,
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
    parser.add_argument("--baseline", metavar="REV", help="race against this commit, not Kafka")
    return parser.parse_args()


def take_beside(revision: str, figures: list[Figure], rounds: int | None, scale: float) -> Report:
    with tempfile.TemporaryDirectory() as directory:
        peer = baseline(revision, check_out(revision, Path(directory)))
        return take(figures, rounds, scale, (peer, KAFKAESQUE), BEFORE[0])


def as_change(report: Report) -> str:
    """Each row's ratio to the same variant before."""
    lines = [f"{'now / before':70}{'durable':>10}{'caching':>10}"]
    for row in report.rows:
        ratios = [row.ratio(now.name, then.name) for now, then in zip(NOW, BEFORE, strict=True)]
        cells = "".join(f"{ratio:>10.2f}" if ratio else f"{'–':>10}" for ratio in ratios)
        lines.append(f"{f'{row.figure}: {row.name} ({row.unit})':70}{cells}")
    return "\n".join(lines)


def main() -> None:
    told = arguments()
    if told.show:
        report = Report.from_json(told.show.read_text())
    else:
        figures, scale = chosen(told.only), QUICK if told.quick else 1.0
        if told.baseline:
            print(as_change(take_beside(told.baseline, figures, told.rounds, scale)))
            return
        report = take(figures, told.rounds, scale)
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
