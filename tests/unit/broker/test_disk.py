"""Jobs in threads: each ends once, whatever it does, and nothing is left when it is closed."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kafkaesque.broker.disk import Disk


def run(work: Callable[[Disk], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        disk = Disk(asyncio.get_running_loop())
        try:
            return await work(disk)
        finally:
            disk.close()

    before = threading.active_count()
    result = asyncio.run(main())
    assert threading.active_count() == before
    return result


def test_each_of_many_jobs_ends_with_its_own_result() -> None:
    async def work(disk: Disk) -> list[int]:
        return await asyncio.gather(*(disk.run(lambda n=n: n * n) for n in range(20_000)))  # type: ignore[misc]

    assert run(work) == [n * n for n in range(20_000)]


def test_jobs_that_come_one_by_one_wake_the_loop_each() -> None:
    async def work(disk: Disk) -> int:
        return sum([await disk.run(lambda: 1) for _ in range(2_000)])

    assert run(work) == 2_000


def test_what_a_job_raises_is_raised_where_it_is_awaited() -> None:
    def fail() -> None:
        raise OSError(28, "full")

    async def work(disk: Disk) -> None:
        with pytest.raises(OSError, match="full"):
            await disk.run(fail)
        assert await disk.run(lambda: "next") == "next"

    run(work)


def test_jobs_run_at_the_same_time_and_not_on_the_loop() -> None:
    together = threading.Barrier(4)

    async def work(disk: Disk) -> None:
        await asyncio.gather(*(disk.run(lambda: together.wait(60)) for _ in range(4)))
        assert await disk.run(threading.current_thread) is not threading.current_thread()

    run(work)


def test_nobody_need_wait_for_a_job_any_longer() -> None:
    gate = threading.Event()

    async def work(disk: Disk) -> int:
        given_up = disk.run(lambda: gate.wait(60))
        given_up.cancel()
        gate.set()
        return await disk.run(lambda: 7)

    assert run(work) == 7


def test_an_interpreter_that_is_ending_gives_no_threads_and_the_work_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    async def work(disk: Disk) -> int:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        return await disk.run(lambda: 7)

    assert run(work) == 7


def test_housekeeping_that_hangs_takes_no_thread_from_what_clients_wait_for() -> None:
    go_on = threading.Event()

    async def work(disk: Disk) -> None:
        housekeeping = [disk.run_aside(go_on.wait) for _ in range(100)]
        assert await disk.run(lambda: "flushed") == "flushed"
        go_on.set()
        assert await asyncio.gather(*housekeeping) == [True] * 100

    run(work)


def test_reads_that_hang_take_no_thread_from_flushes() -> None:
    go_on = threading.Event()

    async def work(disk: Disk) -> None:
        reads = [disk.run_read(go_on.wait) for _ in range(100)]
        assert await disk.run(lambda: "flushed") == "flushed"
        go_on.set()
        assert await asyncio.gather(*reads) == [True] * 100

    run(work)
