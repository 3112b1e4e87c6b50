"""The offsets of one OffsetCommit or TxnOffsetCommit, written batch by batch.

A request may have tens of thousands, and others are to be heard in between. Whether its client may
commit is asked for each batch, and a batch is checked and appended in one step of the loop: else a
rebalance could hand the partitions to another member in between, a transaction could end, or a
topic be deleted. Each partition is answered for the batch that it was in.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias

from kafkaesque.broker.slices import Slices
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.types import TopicPartition

Place: TypeAlias = tuple[TopicPartition, CommittedOffset]
Waiting: TypeAlias = "asyncio.Future[None] | None"

_BATCH = 150
"""Each is encoded, appended and answered: some 30 µs."""


class Answer(Protocol):
    error_code: int


Commit: TypeAlias = tuple[Answer, Callable[[], Place]]
"""Where to write what, unless that is refused; the answer is told in the end."""


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

    async def write(self, slices: Slices, commits: Iterable[Commit | None]) -> None:
        """Returns when all that was written is durable, or is not. None is something that was
        looked at, and took its time.
        """
        async for batch in slices.batches(commits, _BATCH):
            self._write_batch(commit for commit in batch if commit is not None)
        await self._finish()

    def _write_batch(self, commits: Iterable[Commit]) -> None:
        error = self._check()
        answers: list[Answer] = []
        offsets: dict[TopicPartition, CommittedOffset] = {}
        for answer, place in commits:
            answer.error_code = error
            if not error:
                try:
                    name, offset = place()
                    offsets[name] = offset
                    answers.append(answer)
                except KafkaError as refused:
                    answer.error_code = refused.code
        try:
            waiting = self._write(offsets)
        except KafkaError as refused:
            _refuse(answers, refused)
        else:
            self._written.append((answers, waiting))

    async def _finish(self) -> None:
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
