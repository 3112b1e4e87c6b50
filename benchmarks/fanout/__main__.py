"""`python -m benchmarks.fanout`: ours, the sample's pattern, NATS and nchan, in turns, as ratios.

Scenarios: `compare` (all servers), `growth` (ours, from 1,000 to 20,000 connections), `stall` (one
client that does not read), `latency` (one constant changed at a time). Prints tables, and writes
every turn to benchmarks/results/fanout-<UTC time>.json; `--write-docs` makes the page
docs/reference/fanout-performance.md of it. `--show FILE` measures nothing.
The route: a scenario → turn.py → servers/, drainer.py, feeding.py; then report.py → table.py,
page.py.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import machine
from benchmarks.fanout import compare, drainer, growth, latency, stall
from benchmarks.fanout.bars import verdicts
from benchmarks.fanout.load import Load, Rounds
from benchmarks.fanout.page import PAGE, page
from benchmarks.fanout.report import Report
from benchmarks.fanout.running import StartError
from benchmarks.fanout.servers.roster import VARIANTS, missing, versions
from benchmarks.fanout.servers.server import Variant
from benchmarks.fanout.table import as_text
from benchmarks.fanout.turn import Ground, Shape
from tests.broker_process import BrokerProcess

RESULTS = Path(__file__).parents[1] / "results"
SCENARIOS = ("compare", "growth", "stall", "latency")


class Progress:
    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{self.seconds:6.0f} s  {text}", file=sys.stderr, flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began


def measure(told: argparse.Namespace) -> Report:
    """Keep what was measured even if the run ends early."""
    say, left_out = Progress(), missing()
    for name, reason in left_out.items():
        print(f"WITHOUT {name.upper()}: {reason}", file=sys.stderr)
    report = Report(
        taken=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        command=" ".join(["python -m benchmarks.fanout", *sys.argv[1:]]),
        versions={**versions(left_out), **machine.versions()},
        skipped=left_out,
    )
    try:
        with tempfile.TemporaryDirectory(prefix="kafkaesque-fanout-") as directory:
            _run(told, Path(directory), report, say, _chosen(told.variants, left_out))
    finally:
        report = replace(report, seconds=say.seconds)
        print(f"kept in {keep(report)}", file=sys.stderr)
    return report


def _run(
    told: argparse.Namespace,
    directory: Path,
    report: Report,
    say: Progress,
    variants: list[Variant],
) -> None:
    machine.allow_files()
    connections = told.connections
    shape = Shape(connections, Load(connections), Rounds(3, told.seconds))
    with BrokerProcess(directory / "data") as broker:
        ground = Ground(broker.bootstrap, broker.pid, directory, drainer.command(directory))
        if "compare" in told.only:
            compare.run(ground, report, say, variants, shape, told.rounds)
        if "growth" in told.only:
            sizes = [size for size in growth.SIZES if size <= 2 * connections]
            growth.run(ground, report, say, shape, sizes)
        if "stall" in told.only:
            stall.run(ground, report, say, shape)
        if "latency" in told.only:
            latency.run(ground, report, say, shape, connections / 10_000)


def _chosen(only: str | None, left_out: Mapping[str, str]) -> list[Variant]:
    known = {variant.name: variant for variant in VARIANTS if variant.name not in left_out}
    names = only.split(",") if only else list(known)
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no {', '.join(unknown)}: choose from {', '.join(known)}")
    return [known[name] for name in names]


def keep(report: Report) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"fanout-{report.taken.replace(':', '-')}.json"
    path.write_text(report.to_json())
    return path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks.fanout", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--only", type=_scenarios, default=SCENARIOS, help=", ".join(SCENARIOS))
    parser.add_argument("--variants", help="servers of `compare`, with commas; else all")
    parser.add_argument("--connections", type=int, default=10_000, help="and keys")
    parser.add_argument("--rounds", type=int, default=3, help="of `compare`")
    parser.add_argument("--seconds", type=int, default=10, help="that count, of each turn")
    parser.add_argument("--write-docs", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--show", type=Path, metavar="FILE", help="a result of before")
    return parser.parse_args()


def _scenarios(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise argparse.ArgumentTypeError(f"no scenario {', '.join(unknown)}")
    return names


def main() -> None:
    told = arguments()
    report = Report.from_json(told.show.read_text()) if told.show else measure(told)
    print(as_text(report))
    for fault in report.faults():
        print(f"NOT DELIVERED: {fault}")
    for turn in report.disturbed():
        print(f"MACHINE BUSY: {turn}")
    for verdict in verdicts(report):
        print(verdict)
    if told.write_docs:
        PAGE.write_text(page(report))


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # As Ctrl-C does: whoever ends this ends the servers, too.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        main()
    except StartError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
