"""The command line of the simulation: many seeds, one seed, or a smaller plan of one that fails."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial

from tests.simulation.cures import CURES
from tests.simulation.cures.cure import without
from tests.simulation.cures.table import HEADING, rows
from tests.simulation.draw import draw
from tests.simulation.faults.command import every_fault
from tests.simulation.plan import Plan
from tests.simulation.shrink import kind, shrink
from tests.simulation.world import World

_CHUNK = 20
_PROGRESS_SECONDS = 10.0
_HOUR_SECONDS = 3600.0


def run_seed(seed: int, known: str | None = None) -> tuple[int, str | None, float]:
    """The seed, what went wrong, and how many virtual seconds it took."""
    world = World(draw(seed), known)
    return seed, world.run(), world.now


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", default="1:20000", help="first:last")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, help="run one, and print its plan and history")
    parser.add_argument("--shrink", type=int, help="find the smallest plan of a seed that fails")
    parser.add_argument("--known", help="pattern of failures after which a run goes on")
    parser.add_argument("--every-fault", action="store_true", help="one at each file call")
    parser.add_argument("--without", choices=CURES, help="with this cure taken back")
    parser.add_argument(
        "--without-each", action="store_true", help="each cure taken back until that is found"
    )
    options = parser.parse_args(arguments)
    first, _, last = options.seeds.partition(":")
    seeds = range(int(first), int(last or first) + 1)
    if options.every_fault:
        return every_fault(options.processes)
    if options.without_each:
        return _without_each(seeds, options.processes)
    with without(CURES[options.without]) if options.without else nullcontext():
        if options.seed is not None:
            return _one(draw(options.seed), options.known)
        if options.shrink is not None:
            return _shrink(options.shrink, options.known)
        return _many(seeds, options.processes, options.known)


def _without_each(seeds: range, processes: int) -> int:
    _print(HEADING)
    are_found = []
    for row, is_found in rows(CURES.values(), seeds, processes):
        _print(row)
        are_found.append(is_found)
    return 0 if all(are_found) else 1


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _one(plan: Plan, known: str | None) -> int:
    world = World(plan, known)
    failure = world.run()
    _print(f"{plan}\n{world.history.text()}")
    return 1 if failure else 0


def _shrink(seed: int, known: str | None) -> int:
    plan = draw(seed)
    failure = World(plan, known).run()
    if failure is None:
        _print(f"seed {seed} does not fail")
        return 0
    return _one(shrink(plan, failure, known), known)


def _many(seeds: range, processes: int, known: str | None) -> int:
    began = said = time.monotonic()
    failures: dict[str, list[int]] = {}
    count, virtual = 0, 0.0
    for seed, failure, seconds in _results(seeds, processes, known):
        count, virtual = count + 1, virtual + seconds
        if failure is not None:
            failures.setdefault(kind(failure), []).append(seed)
            _print(f"seed {seed}: {failure}")
        if time.monotonic() - said > _PROGRESS_SECONDS:
            said = time.monotonic()
            _print(_progress(count, len(seeds), failures, virtual, said - began))
    _print(_progress(count, len(seeds), failures, virtual, time.monotonic() - began))
    for what, failing in sorted(failures.items(), key=lambda item: -len(item[1])):
        some = ", ".join(map(str, sorted(failing)[:8]))
        _print(f"{len(failing):6} × {what}: seeds {some}")
    return 1 if failures else 0


def _results(
    seeds: range, processes: int, known: str | None
) -> Iterator[tuple[int, str | None, float]]:
    run = partial(run_seed, known=known)
    if processes < 2:
        yield from map(run, seeds)
        return
    with multiprocessing.Pool(processes) as pool:
        yield from pool.imap_unordered(run, seeds, _CHUNK)


def _progress(
    count: int, total: int, failures: dict[str, list[int]], virtual: float, seconds: float
) -> str:
    failed = sum(map(len, failures.values()))
    return (
        f"{count} of {total} seeds, {failed} failed, {count / seconds:.1f} seeds a second, "
        f"{virtual / seconds:.0f} simulated hours an hour ({virtual / _HOUR_SECONDS:.1f} in all)"
    )
