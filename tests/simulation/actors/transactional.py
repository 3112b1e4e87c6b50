"""Transactional producers: records in several partitions and offsets of a group, all or nothing."""

from dataclasses import dataclass
from typing import Any

from tests.simulation.actors.batches import labelled_batch, produce_request
from tests.simulation.actors.producer import Producer
from tests.simulation.model.records import Key, name
from tests.simulation.model.transactions import Outcome, Transaction

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkaesque.protocol.messages.end_txn import EndTxnRequest
from kafkaesque.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkaesque.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TIMEOUT_MS = 4000


@dataclass(frozen=True, slots=True)
class _Sent:
    place: Key
    producer: tuple[int, int]
    labels: list[int]
    data: bytearray
    base_offset: int


class TransactionalProducer(Producer):
    """Owns a transactional id and a group, both of its own name."""

    def __init__(self, name: str, world: object) -> None:
        super().__init__(name, world)  # type: ignore[arg-type]
        self._producer = (-1, -1)
        self._sequences: dict[Key, int] = {}
        self._sent: list[_Sent] = []
        """Acknowledged in this epoch."""
        self._old: list[_Sent] = []
        self._transaction: Transaction | None = None
        self._is_in_doubt = False
        self._number = 0

    async def _ask_once(self, request: object, version: int) -> Any:
        """Without an answer nobody knows what was done: a new epoch has to be asked for then."""
        self._is_in_doubt = True
        answer = await self.ask(request, version)
        self._is_in_doubt = False
        return answer

    async def begin(self) -> None:
        """Fences what came before under this name, and ends what that left open."""
        request = InitProducerIdRequest(
            transactional_id=self.name, transaction_timeout_ms=TIMEOUT_MS
        )
        left, self._transaction = self._transaction, None
        self._producer = (-1, -1)
        answer = await self._ask_once(request, 5)
        code = self.code(answer.error_code)
        self.note(f"begin as {answer.producer_id}, {answer.producer_epoch}: {code.name}")
        if code is ErrorCode.NONE:
            self._become(answer.producer_id, answer.producer_epoch)
            if left is not None and left.outcome is Outcome.OPEN:
                left.outcome = Outcome.ABORTED

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != self._producer:
            self._producer = producer_id, epoch
            self._sequences = {}
            self._old, self._sent = self._sent or self._old, []

    async def _current(self) -> Transaction | None:
        if self._producer[0] < 0 or self._is_in_doubt:
            await self.begin()
        if self._producer[0] < 0:
            return None
        if self._transaction is None:
            self._number += 1
            title = f"transaction {self._number} of {self.name}"
            self._transaction = self.world.transactions.begin(title)
        return self._transaction

    async def send(self, places: tuple[tuple[str, int], ...], count: int, key: int) -> None:
        """One request with a batch for each of the partitions."""
        keys = [place for at in places if (place := self.partition(*at)) is not None]
        transaction = await self._current()
        if transaction is None or not keys:
            return
        data, sent = {}, {}
        for place in dict.fromkeys(keys):
            sent[place] = labels = self.label(place, count, key, False)
            for label in labels:
                self.world.transactions.sending(transaction, label, place)
            sequence = self._sequences.get(place, 0)
            producer = *self._producer, sequence
            data[place] = labelled_batch(
                labels, b"key%d" % key, b"t", self.world.clock(), producer, transactional=True
            )
        self.note(f"send {[(name(place), *labels) for place, labels in sent.items()]}")
        answer = await self._ask_once(produce_request(data, transactional_id=self.name), 13)
        for topic in answer.responses:
            found = topic.partition_responses[0]
            place = topic.topic_id, found.index
            code = self.code(found.error_code)
            self.note(f"send to {name(place)}: {code.name} at {found.base_offset}")
            if code is ErrorCode.NONE:
                self._sequences[place] = self._sequences.get(place, 0) + count
                transaction.acknowledged.update(sent[place])
                self.acknowledged(place, found.base_offset, sent[place])
                batch = _Sent(place, self._producer, sent[place], data[place], found.base_offset)
                self._sent.append(batch)
            else:
                self._producer = (-1, -1)

    async def send_again(self, number: int, back: int) -> None:
        """What was acknowledged in the transaction that is open: it is there, and known."""
        if self._transaction is None or self._producer[0] < 0 or self._is_in_doubt:
            return
        places = list(dict.fromkeys(batch.place for batch in self._sent))
        if not places:
            return
        place = places[number % len(places)]
        batch = [batch for batch in self._sent if batch.place == place][-back:][0]
        if self._is_there(batch):
            code, offset = await self._send_as_it_was(batch)
            if not self._is_there(batch):
                for label in batch.labels:
                    self.world.records.appended_anew(label)
            elif code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or (
                code is ErrorCode.NONE and offset != batch.base_offset
            ):
                what = f"{code.name} at {offset}, and it is at {batch.base_offset}"
                self.world.fail(f"{self.name} sends {batch.labels} again: {what}")
            if code is not ErrorCode.NONE or offset != batch.base_offset:
                self._producer = (-1, -1)

    async def send_with_old_epoch(self) -> None:
        """As one who was fenced, or whose transaction has ended."""
        if self._old and self._old[-1].producer < self._producer and not self._is_in_doubt:
            batch = self._old[-1]
            code, offset = await self._send_as_it_was(batch)
            if code is ErrorCode.NONE:
                what = f"{batch.labels} as {batch.producer}, and is let in at {offset}"
                self.world.fail(f"{self.name} is {self._producer}, sends {what}")

    def _is_there(self, batch: _Sent) -> bool:
        return self.world.is_there(batch.place, batch.base_offset, batch.labels[0])

    async def _send_as_it_was(self, batch: _Sent) -> tuple[ErrorCode, int]:
        what = f"send {batch.labels} to {name(batch.place)} again"
        self.note(f"{what} as {batch.producer}")
        request = produce_request({batch.place: batch.data}, transactional_id=self.name)
        answer = await self._ask_once(request, 13)
        found = answer.responses[0].partition_responses[0]
        code = self.code(found.error_code)
        self.note(f"{what}: {code.name} at {found.base_offset}")
        return code, found.base_offset

    async def send_offsets(self, topic: str, index: int) -> None:
        place = self.partition(topic, index)
        transaction = await self._current()
        if place is None or transaction is None:
            return
        producer_id, epoch = self._producer
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=producer_id,
            producer_epoch=epoch,
            group_id=self.name,
        )
        code = self.code((await self._ask_once(request, 4)).error_code)
        offset = self.world.records.new_label()
        commit = (self.name, *place)
        if code is ErrorCode.NONE:
            transaction.offsets[commit] = offset
            # The request has the topic's name only, and that may be another's when it arrives.
            self.world.offsets.going_astray(offset)
            code = await self._commit_offset(topic, place, offset)
            if self.partition(topic, index) == place:
                self.world.offsets.arrived(offset)
        self.note(f"send offset {offset} of {name(place)}: {code.name}")
        if code is ErrorCode.NONE:
            transaction.acknowledged_offsets.add(commit)
        else:
            self._producer = (-1, -1)

    async def _commit_offset(self, topic: str, place: Key, offset: int) -> ErrorCode:
        producer_id, epoch = self._producer
        wanted = TxnOffsetCommitRequestPartition(partition_index=place[1], committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=self.name,
            producer_id=producer_id,
            producer_epoch=epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[wanted])],
        )
        answer = await self._ask_once(request, 5)
        return self.code(answer.topics[0].partitions[0].error_code)

    async def end(self, commit: bool) -> None:
        transaction = self._transaction
        if transaction is None or self._producer[0] < 0 or self._is_in_doubt:
            return
        if commit:
            transaction.outcome = Outcome.COMMIT_ASKED
            for at, offset in transaction.offsets.items():
                self.world.offsets.asked_for(at, offset)
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            committed=commit,
        )
        what = f"{'commit' if commit else 'abort'} {transaction.name}"
        self.note(what)
        answer = await self._ask_once(request, 5)
        code = self.code(answer.error_code)
        self.note(f"{what}: {code.name}")
        if code is ErrorCode.NONE:
            self._ended(transaction, commit)
            self._become(answer.producer_id, answer.producer_epoch)
        else:
            self._producer = (-1, -1)
        self._transaction = None

    def _ended(self, transaction: Transaction, commit: bool) -> None:
        transaction.outcome = Outcome.COMMITTED if commit else Outcome.ABORTED
        for at in transaction.acknowledged_offsets if commit else ():
            self.world.offsets.told(at, transaction.offsets[at])
