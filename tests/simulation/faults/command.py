"""`python -m tests.simulation --every-fault`: the whole table, and what it has found."""

import multiprocessing
import sys
import time

from tests.simulation.faults.table import Row, rows, run, summary

_CHUNK = 10


def every_fault(processes: int) -> int:
    """At the first call of each site, at the last, and at the first with a power cut after it."""
    began = time.monotonic()
    table = [*rows(), *rows(is_last=True), *rows(is_cut=True)]
    results: list[tuple[Row, str | None]] = []
    with multiprocessing.Pool(processes) as pool:
        for row, failure in pool.imap_unordered(run, table, _CHUNK):
            results.append((row, failure))
            if failure is not None:
                sys.stdout.write(f"{row}: {failure}\n")
                sys.stdout.flush()
    failed = sum(failure is not None for _, failure in results)
    seconds = time.monotonic() - began
    sys.stdout.write(f"{summary(results)}\n{len(results)} rows, {failed} failed, {seconds:.0f} s\n")
    return 1 if failed else 0
