"""What /proc says is read as it is meant."""

import os
import time

from benchmarks.fanout.accounting import Cpu, cpu, family, kilobytes, memory, stat_ticks

TICKS = os.sysconf("SC_CLK_TCK")


def test_user_and_kernel_time_stand_behind_a_name_with_spaces_and_brackets() -> None:
    text = f"12 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 {3 * TICKS} {TICKS} 0 0 20 0"
    assert stat_ticks(text) == Cpu(3.0, 1.0)


def test_both_add_up_to_the_clock_of_the_process() -> None:
    before = time.process_time()
    measured = cpu([os.getpid()]).total_s
    assert before <= measured + 1e-6
    assert measured <= time.process_time() + 1e-6


def test_memory_is_in_kilobytes() -> None:
    assert kilobytes("00400-00401 ---p 0 [rollup]\nRss:    12 kB\nPss:  7 kB\n") == {
        "Rss": 12.0,
        "Pss": 7.0,
    }
    mine = memory([os.getpid()])
    assert 1000 < mine.pss_kb <= mine.rss_kb


def test_a_process_is_of_its_own_family() -> None:
    assert family(os.getpid())[0] == os.getpid()
