"""Where a subscription goes on: what has come moves its position."""

import asyncio

import pytest

from kafkaesque.client.subscriber import Subscription, advance
from kafkaesque.client.v1 import Gap, GapReason, Subscribe
from kafkaesque.event import Event


def event(partition: int, offset: int) -> Event:
    return Event("t", partition, offset, 0, None, None)


def test_a_record_moves_it_behind_itself_and_never_back() -> None:
    position = {0: 5}
    advance(position, event(0, 7))
    advance(position, event(1, 0))
    advance(position, {0: 6, 2: 3})
    assert position == {0: 8, 1: 1, 2: 3}


def test_a_gap_moves_it_behind_its_first_range_only() -> None:
    """Records between two ranges come after the gap's message: who comes back needs them."""
    position = {0: 5, 1: 0}
    advance(position, Gap(1, GapReason.CONFLATED, 4, ((0, 5, 7), (0, 12, 15), (1, 3, 3))))
    assert position == {0: 8, 1: 4}
    advance(position, event(0, 9))
    assert position == {0: 10, 1: 4}


@pytest.mark.parametrize(("received", "start"), [({}, "earliest"), ({0: 7}, {0: 7})])
def test_a_new_connection_asks_for_what_has_not_come(
    received: dict[int, int], start: object
) -> None:
    async def resumed() -> Subscribe:
        subscription = Subscription(Subscribe(1, "t", keys=(b"k",), start="earliest"))
        subscription.received.update(received)
        return subscription.resumed()

    request = asyncio.run(resumed())
    assert (request.start, request.keys) == (start, (b"k",))
