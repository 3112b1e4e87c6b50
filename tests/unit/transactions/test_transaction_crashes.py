"""The crashes that matter most, step by step: two transactions in a row, and a power cut.

Before it, the first is committed and answered; of the second something is written, durably. The
power cut takes from `__transaction_state` all that need not be durable. The second transaction must
not be taken for the first, whose decision is the last word that the log is sure to have.
"""

from itertools import count

import pytest
from tests.unit.transactions.driver import P0, P1, TIMEOUT_MS
from tests.unit.transactions.world import Data, World

from kafkaesque.errors import ErrorCode
from kafkaesque.transactions.events import Add, End, Init, Reply
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.transaction import LAST_CLIENT_EPOCH, Identity
from kafkaesque.types import TopicPartition

TOKENS = count(1)
ENDS = pytest.mark.parametrize("bumps", [False, True])
EPOCHS = pytest.mark.parametrize("epoch", [0, LAST_CLIENT_EPOCH - 1])


class Producer:
    """Goes on and on; the world forgets in a crash whatever it may."""

    def __init__(self, epoch: int, bumps: bool) -> None:
        self.world = World(lambda least, most: least, epoch)
        self.bumps = bumps
        init = Init(next(TOKENS), TIMEOUT_MS, fresh_id=self.world.fresh_id())
        self.identity = self.told(self.world.ask(init))

    def told(self, reply: Reply | None) -> Identity:
        assert reply is not None
        assert reply.error is ErrorCode.NONE
        return reply.producer_id, reply.producer_epoch

    def write(self, number: int, partition: TopicPartition) -> None:
        self.told(self.world.ask(Add(next(TOKENS), *self.identity, Partitions({partition}))))
        disk = self.world.partitions[partition]
        disk.append(Data(self.identity, number))
        disk.sync()

    def end(self, commit: bool) -> None:
        ending = *self.identity, commit, self.bumps
        end = End(next(TOKENS), *ending, fresh_id=self.world.fresh_id())
        told = self.told(self.world.ask(end))
        if self.bumps:
            self.identity = told

    def verdicts(self) -> dict[int, bool | None]:
        return dict(self.world.verdicts())


@ENDS
@EPOCHS
@pytest.mark.parametrize("partition", [P0, P1])
def test_the_next_transaction_is_open_after_a_power_cut(
    epoch: int, bumps: bool, partition: TopicPartition
) -> None:
    producer = Producer(epoch, bumps)
    producer.write(1, P0)
    producer.end(commit=True)
    producer.write(2, partition)
    producer.world.restart()
    assert producer.verdicts() == {1: True, 2: None}


@ENDS
@EPOCHS
@pytest.mark.parametrize("commit", [True, False])
def test_the_next_transaction_ends_as_its_producer_says(
    epoch: int, bumps: bool, commit: bool
) -> None:
    producer = Producer(epoch, bumps)
    producer.write(1, P0)
    producer.end(commit=True)
    producer.write(2, P0)
    producer.world.restart()
    producer.write(2, P1)
    producer.end(commit)
    assert producer.verdicts() == {1: True, 2: commit}


@ENDS
@EPOCHS
def test_what_is_decided_is_completed_after_a_power_cut(epoch: int, bumps: bool) -> None:
    producer = Producer(epoch, bumps)
    producer.write(1, P0)
    producer.write(1, P1)
    producer.world.is_offline = True
    producer.end(commit=True)
    assert producer.verdicts() == {1: None}
    producer.world.is_offline = False
    producer.world.restart()
    assert producer.verdicts() == {1: True}


@ENDS
@EPOCHS
def test_what_is_not_decided_is_aborted_when_the_next_producer_starts(
    epoch: int, bumps: bool
) -> None:
    producer = Producer(epoch, bumps)
    producer.write(1, P0)
    producer.world.restart()
    producer.world.ask(Init(next(TOKENS), TIMEOUT_MS, fresh_id=producer.world.fresh_id()))
    assert producer.verdicts() == {1: False}
