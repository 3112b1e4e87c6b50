"""The offsets of one OffsetCommit or TxnOffsetCommit, written slice by slice.

A request may have tens of thousands, and others are to be heard in between. Whether its client may
commit is asked for each slice, and a slice is checked and appended in one step of the loop: else a
rebalance could hand the partitions to another member in between, a transaction could end, or a
topic be deleted. Each partition is answered for the slice that it was in.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.types import TopicPartition

Place: TypeAlias = tuple[TopicPartition, CommittedOffset]
Waiting: TypeAlias = "asyncio.Future[None] | None"

_PER_TURN = 150
"""Each is encoded, appended and answered: some 50 µs."""


class Answer(Protocol):
    error_code: int


class Commits:
    """`check` says whether the client may commit, `write` appends, and says when it is durable."""

    def __init__(
        self,
        check: Callable[[], ErrorCode],
        write: Callable[[Mapping[TopicPartition, CommittedOffset]], Waiting],
    ) -> None:
        self._check = check
        self._write = write
        self._written: list[tuple[list[Answer], Waiting]] = []
        self._begin()

    def _begin(self) -> None:
        self._error = self._check()
        self._count = 0
        self._answers: list[Answer] = []
        self._offsets: dict[TopicPartition, CommittedOffset] = {}

    async def step(self) -> None:
        """One thing more has been looked at: it may be time for the next slice."""
        self._count += 1
        if self._count >= _PER_TURN:
            self._end()
            await asyncio.sleep(0)
            self._begin()

    async def add(self, answer: Answer, place: Callable[[], Place]) -> None:
        """Where to write what, unless that is refused; `answer` is told in the end."""
        answer.error_code = self._error
        if not self._error:
            try:
                name, offset = place()
                self._offsets[name] = offset
                self._answers.append(answer)
            except KafkaError as refused:
                answer.error_code = refused.code
        await self.step()

    def _end(self) -> None:
        try:
            waiting = self._write(self._offsets)
        except KafkaError as refused:
            _refuse(self._answers, refused)
        else:
            self._written.append((self._answers, waiting))

    async def finish(self) -> None:
        """Wait until all that was written is durable, or is not."""
        self._end()
        if waiting := [future for _, future in self._written if future is not None]:
            await asyncio.wait(waiting)
        for answers, future in self._written:
            error = None if future is None else future.exception()
            if isinstance(error, KafkaError):
                _refuse(answers, error)


def _refuse(answers: list[Answer], refused: KafkaError) -> None:
    for answer in answers:
        answer.error_code = commit_error(refused)


def commit_error(refused: KafkaError) -> ErrorCode:
    """Why offsets could not be written, as groups say it."""
    is_told = refused.code in (
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    )
    return refused.code if is_told else ErrorCode.COORDINATOR_NOT_AVAILABLE
