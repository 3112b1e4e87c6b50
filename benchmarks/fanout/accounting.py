"""What servers take of the machine: CPU time, user and kernel apart, and memory.

The sum is the kernel's clock of the process, to the microsecond; /proc/<pid>/stat has user and
kernel in hundredths of a second and says how to split it. Memory is what is resident (RSS), and its
proportional share where processes share pages (PSS). What the kernel itself holds for sockets is in
neither: `kernel_memory_kb` has it for the whole machine, both ends of each loopback connection.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.process import cpu_seconds

_TICKS = os.sysconf("SC_CLK_TCK")


class Cpu(NamedTuple):
    user_s: float
    kernel_s: float

    @property
    def total_s(self) -> float:
        return self.user_s + self.kernel_s

    def __sub__(self, before: "Cpu") -> "Cpu":
        return Cpu(self.user_s - before.user_s, self.kernel_s - before.kernel_s)


class Memory(NamedTuple):
    rss_kb: float
    pss_kb: float

    def __sub__(self, before: "Memory") -> "Memory":
        return Memory(self.rss_kb - before.rss_kb, self.pss_kb - before.pss_kb)


def family(pid: int) -> list[int]:
    """The process and all that it started."""
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def cpu(pids: Iterable[int]) -> Cpu:
    user = kernel = 0.0
    for pid in pids:
        ticks = stat_ticks(Path(f"/proc/{pid}/stat").read_text())
        share = ticks.user_s / ticks.total_s if ticks.total_s else 0.0
        seconds = cpu_seconds(pid)
        user += seconds * share
        kernel += seconds * (1 - share)
    return Cpu(user, kernel)


def stat_ticks(text: str) -> Cpu:
    """The name of a program, in brackets, may have spaces and brackets of its own."""
    fields = text.rpartition(")")[2].split()
    return Cpu(int(fields[11]) / _TICKS, int(fields[12]) / _TICKS)


def memory(pids: Iterable[int]) -> Memory:
    rss = pss = 0.0
    for pid in pids:
        said = kilobytes(Path(f"/proc/{pid}/smaps_rollup").read_text())
        rss += said["Rss"]
        pss += said["Pss"]
    return Memory(rss, pss)


def kernel_memory_kb() -> float:
    said = kilobytes(Path("/proc/meminfo").read_text())
    return said["Slab"] + said.get("Percpu", 0.0)


def kilobytes(text: str) -> dict[str, float]:
    """Lines such as `Rss:   12 kB`, by name."""
    lines = (line.split() for line in text.splitlines())
    return {words[0][:-1]: float(words[1]) for words in lines if words[-1:] == ["kB"]}
