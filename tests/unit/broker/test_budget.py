"""The budget of bytes in flight: who waits, who goes on, and in which order."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kafkaesque.broker.budget import Budget


class Waiter:
    """Holds `parked` bytes of a request, and takes the rest when it may go on."""

    def __init__(self, budget: Budget, name: str, parked: int, size: int, log: list[str]) -> None:
        self.budget = budget
        self.name = name
        self.parked_bytes = parked
        self.size = size
        self.log = log
        budget.used += parked

    def ask(self) -> bool:
        if self.budget.admits(self, self.size):
            self.budget.used += self.size
            self.log.append(self.name)
            return True
        self.budget.wait(self, self.size)
        return False

    def go_on(self) -> None:
        self.ask()


def run(scenario: Callable[[Budget, list[str]], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await scenario(Budget(100, asyncio.get_running_loop()), [])

    asyncio.run(main())


async def settled() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_whoever_fits_goes_on_at_once() -> None:
    async def scenario(budget: Budget, log: list[str]) -> None:
        assert Waiter(budget, "a", 0, 60, log).ask()
        assert Waiter(budget, "b", 0, 40, log).ask()
        assert not Waiter(budget, "c", 0, 1, log).ask()

    run(scenario)


def test_those_who_wait_go_on_in_their_order_when_bytes_are_given_back() -> None:
    async def scenario(budget: Budget, log: list[str]) -> None:
        budget.used = 90
        large, small = Waiter(budget, "large", 0, 50, log), Waiter(budget, "small", 0, 10, log)
        assert not large.ask()
        # It would fit, but nobody overtakes.
        assert not small.ask()
        budget.give_back(20)
        await settled()
        assert log == []
        budget.give_back(30)
        await settled()
        assert log == ["large", "small"]

    run(scenario)


def test_one_that_alone_exceeds_the_budget_goes_on_when_nothing_else_is_in_flight() -> None:
    async def scenario(budget: Budget, log: list[str]) -> None:
        budget.used = 50
        assert not Waiter(budget, "huge", 0, 1000, log).ask()
        budget.give_back(50)
        await settled()
        assert log == ["huge"]

    run(scenario)


def test_those_who_wait_with_half_a_request_do_not_wait_for_each_other() -> None:
    async def scenario(budget: Budget, log: list[str]) -> None:
        first, second = (Waiter(budget, name, 55, 40, log) for name in ("first", "second"))
        assert not first.ask()
        assert not second.ask()
        await settled()
        assert log == ["first"]
        budget.give_back(first.size + first.parked_bytes)
        await settled()
        assert log == ["first", "second"]

    run(scenario)


def test_those_who_wait_with_half_a_request_do_not_wait_for_long_ones() -> None:
    """One of those may be there for as long as a disk hangs."""

    async def scenario(budget: Budget, log: list[str]) -> None:
        budget.used = budget.used_by_long = 50
        first, second = (Waiter(budget, name, 25, 40, log) for name in ("first", "second"))
        assert not first.ask()
        assert not second.ask()
        await settled()
        assert log == ["first"]
        budget.give_back(first.size + first.parked_bytes)
        await settled()
        assert log == ["first", "second"]

    run(scenario)


def test_one_that_has_gone_holds_nobody_up() -> None:
    async def scenario(budget: Budget, log: list[str]) -> None:
        budget.used = 100
        gone, other = Waiter(budget, "gone", 0, 100, log), Waiter(budget, "other", 0, 10, log)
        gone.ask()
        other.ask()
        budget.forget(gone)
        budget.give_back(10)
        await settled()
        assert log == ["other"]

    run(scenario)


def test_one_that_has_begun_comes_before_those_that_have_not() -> None:
    async def scenario(budget: Budget, log: list[str]) -> None:
        budget.used = 100
        new, begun = Waiter(budget, "new", 0, 50, log), Waiter(budget, "begun", 0, 50, log)
        budget.wait(new, 50)
        budget.wait(begun, 50, has_begun=True)
        budget.give_back(100)
        await settled()
        assert log == ["begun", "new"]

    run(scenario)
