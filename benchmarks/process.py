"""What the kernel says about a broker's process: the CPU time it took, the memory it has."""

import os
import time
from pathlib import Path

_PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_CPU_CLOCK = 2


def cpu_seconds(pid: int) -> float:
    """Of all its threads, those that have ended included, to the microsecond.

    /proc/<pid>/stat has it in hundredths of a second: too coarse for a load that takes a tenth. The
    kernel's clock of a process has the number that clock_getcpuclockid(3) makes of its id.
    """
    return time.clock_gettime((~pid << 3) | _CPU_CLOCK)


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_SIZE / 1e6
