"""What the kernel says of a process is the same as what the process says of itself."""

import os
import time

from benchmarks.process import cpu_seconds, resident_mb


def test_cpu_time_is_the_process_own_to_less_than_a_tick() -> None:
    before = time.process_time()
    measured = cpu_seconds(os.getpid())
    assert before <= measured <= time.process_time()


def test_memory_is_in_megabytes() -> None:
    assert 1 < resident_mb(os.getpid()) < 100_000
