"""Producers: plain ones, and idempotent ones that send again what is in doubt.

Idempotent ones also send again what was acknowledged, up to six batches back, over another
connection and after a restart: the broker knows the last five by their offsets. And they send what
has to be refused: with a gap in the sequence, or with an epoch that they have given up. That is
said of a batch only while its record is in the log for certain (`World.is_there`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.simulation.actors.actor import Actor
from tests.simulation.actors.batches import NO_PRODUCER, labelled_batch, produce_request
from tests.simulation.model.records import Key, Sent, name
from tests.simulation.plan import Step

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.init_producer_id import InitProducerIdRequest

_ALL = -1
_REMEMBERED = 5
"""So many batches of a producer a partition knows."""
UNKNOWN_BATCH = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    ErrorCode.PRODUCER_FENCED,
)
_BEGIN_ANEW = (
    *UNKNOWN_BATCH,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class Producer(Actor):
    async def produce(
        self, topic: str, index: int, count: int, key: int, size: int, acks: int, age_ms: int
    ) -> None:
        """`size` −1: a tombstone. `age_ms`: of its timestamps."""
        place = self.partition(topic, index)
        if place is None:
            return
        labels = self.label(place, count, key, size < 0)
        value = None if size < 0 else b"v" * size
        timestamp = -(2**63) if age_ms < 0 else self.world.clock() - age_ms
        batch = labelled_batch(labels, b"key%d" % key, value, timestamp)
        what = f"produce {labels[0]}…{labels[-1]} to {topic}-{place[1]} acks={acks}"
        self.note(what)
        answer = await self.ask(produce_request({place: batch}, acks), 13)
        if answer is not None:
            found = answer.responses[0].partition_responses[0]
            code = self.code(found.error_code)
            self.note(f"{what}: {code.name} at {found.base_offset}")
            self.world.check_storage_error(code, topic, place)
            if code is ErrorCode.NONE:
                self.acknowledged(place, found.base_offset, labels, is_flushed=acks == _ALL)

    def label(self, place: Key, count: int, key: int, is_tombstone: bool) -> list[int]:
        records = self.world.records
        labels = [records.new_label() for _ in range(count)]
        for label in labels:
            records.sending(label, Sent(place, b"key%d" % key, is_tombstone, self.name))
        return labels

    def acknowledged(
        self, place: Key, base_offset: int, labels: Sequence[int], *, is_flushed: bool = True
    ) -> None:
        if is_flushed:
            self.world.acknowledged(place, base_offset + len(labels) - 1)
        for number, label in enumerate(labels):
            self.world.promised(place, base_offset + number, label, is_flushed=is_flushed)


@dataclass(slots=True)
class Batch:
    """As it was sent, and where it was acknowledged to be."""

    labels: list[int]
    data: bytearray
    topic: str = ""
    index: int = 0
    base_offset: int = -1
    is_there: bool = False
    """Whether the log had it for certain when it was sent again."""


class IdempotentProducer(Producer):
    """Keeps its id through the lives of the broker. What is in doubt goes first, as it was."""

    _producer = NO_PRODUCER[:2]

    def __init__(self, name: str, world: object) -> None:
        super().__init__(name, world)  # type: ignore[arg-type]
        self._next_sequence: dict[Key, int] = {}
        self._in_doubt: dict[Key, list[Batch]] = {}
        self._acknowledged: dict[Key, list[Batch]] = {}

    async def live(self, steps: list[Step]) -> None:
        if steps and self.world.lives > 1:
            at = self.world.loop.time()
            steps[:0] = [Step(at, self.name, "produce_again", (i, 1 + i, False)) for i in range(3)]
        await super().live(steps)

    def _is_in_doubt(self) -> bool:
        return any(self._in_doubt.values())

    def _give_up_id(self) -> None:
        self._producer = NO_PRODUCER[:2]
        self._forget()

    def _forget(self) -> None:
        self._next_sequence.clear()
        self._in_doubt.clear()
        self._acknowledged.clear()

    async def begin(self) -> None:
        answer = await self.ask(InitProducerIdRequest(), 4)
        code = self.code(answer.error_code)
        self.note(f"producer id {answer.producer_id}: {code.name}")
        if code is ErrorCode.NONE:
            self._producer = answer.producer_id, answer.producer_epoch
            self.world.given_producer_id(*self._producer)
            self._forget()

    async def raise_epoch(self) -> None:
        """As clients do by themselves where no transaction is concerned (KIP-360)."""
        if self._producer[0] >= 0 and not self._is_in_doubt():
            self._producer = self._producer[0], self._producer[1] + 1
            self._forget()

    async def produce_in_sequence(self, topic: str, index: int, count: int, key: int) -> None:
        place = self.partition(topic, index)
        if self._producer[0] < 0:
            await self.begin()
        if place is None or self._producer[0] < 0:
            return
        doubts = self._in_doubt.setdefault(place, [])
        sequence = self._next_sequence.get(place, 0)
        labels = self.label(place, count, key, False)
        data = self._batch(labels, key, (*self._producer, sequence))
        self._next_sequence[place] = sequence + count
        doubts.append(Batch(labels, data, topic, index))
        while doubts and self._in_doubt.get(place) is doubts:
            if not await self._send(place, doubts[0]):
                return
            self._acknowledged.setdefault(place, []).append(doubts.pop(0))

    def _batch(self, labels: list[int], key: int, producer: tuple[int, int, int]) -> bytearray:
        return labelled_batch(labels, b"key%d" % key, b"i", self.world.clock(), producer)

    async def _send(self, place: Key, batch: Batch) -> bool:
        what = f"produce {batch.labels[0]}…{batch.labels[-1]} to {batch.topic} {name(place)}"
        code, offset = await self._ask_to_append(place, batch, f"{what} in sequence")
        if code is ErrorCode.NONE:
            batch.base_offset = offset
            self.acknowledged(place, offset, batch.labels)
        elif code in _BEGIN_ANEW:
            before = self._acknowledged.get(place)
            if code in UNKNOWN_BATCH and before and self._is_there(place, before[-1]):
                self.world.fail(f"{self.name}: {code.name}, and nothing was left out: {what}")
            self._give_up_id()
        return code is ErrorCode.NONE

    async def _ask_to_append(
        self, place: Key, batch: Batch, what: str, is_elsewhere: bool = False
    ) -> tuple[ErrorCode, int]:
        """`is_elsewhere`: over another connection."""
        self.note(f"{what} as {self._producer}")
        request = produce_request({place: batch.data})
        if is_elsewhere:
            client = self.connect()
            answer = await self.ask_over(client, request, 13)
            client.close()
        else:
            answer = await self.ask(request, 13)
        found = answer.responses[0].partition_responses[0]
        code = self.code(found.error_code)
        self.note(f"{what}: {code.name} at {found.base_offset}")
        self.world.check_storage_error(code, batch.topic, place)
        return code, found.base_offset

    # What was acknowledged before, and what nobody may take.

    def _is_there(self, place: Key, batch: Batch) -> bool:
        return self.world.is_there(place, batch.base_offset, batch.labels[0])

    def _known(self, number: int, count: int = 1) -> tuple[Key, list[Batch]] | None:
        """A partition that knows this producer for certain, and what it has acknowledged: so many
        batches at least.
        """
        known = [
            (place, batches)
            for place, batches in self._acknowledged.items()
            if len(batches) >= count
            and not self._in_doubt.get(place)
            and self.partition(batches[-1].topic, batches[-1].index) == place
            and self._is_there(place, batches[-1])
        ]
        return known[number % len(known)] if known else None

    async def produce_again(self, number: int, back: int, is_elsewhere: bool) -> None:
        """The batch before the last `back` − 1, to one of the partitions."""
        known = self._known(number, back) or self._known(number)
        if known is None:
            return
        place, batches = known
        back = min(back, len(batches))
        batch = batches[-back]
        if not self._is_there(place, batch):
            return
        what = f"produce {batch.labels[0]}…{batch.labels[-1]} to {batch.topic} {name(place)} again"
        try:
            code, offset = await self._ask_to_append(place, batch, what, is_elsewhere)
        finally:
            # Records may have been deleted meanwhile.
            is_there = self._is_there(place, batch)
            for label in () if is_there else batch.labels:
                self.world.records.appended_anew(label)
        if code is ErrorCode.NONE and offset != batch.base_offset:
            if is_there:
                self.world.fail(f"{what}: it is at {batch.base_offset}, and now at {offset}")
            self.acknowledged(place, offset, batch.labels)
            self._give_up_id()
        elif code in UNKNOWN_BATCH and is_there and back <= _REMEMBERED:
            self.world.fail(f"{what}: {code.name}, and it is at {batch.base_offset}")

    async def produce_with_gap(self, number: int, gap: int) -> None:
        known = self._known(number)
        if known is not None:
            sequence = self._next_sequence[known[0]] + gap
            wanted = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,)
            await self._produce_in_vain(*known, (*self._producer, sequence), wanted)

    async def produce_with_old_epoch(self, number: int) -> None:
        known = self._known(number)
        if known is not None and self._producer[1] > 0:
            producer = self._producer[0], self._producer[1] - 1, self._next_sequence[known[0]]
            wanted = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
            await self._produce_in_vain(*known, producer, wanted)

    async def _produce_in_vain(
        self,
        place: Key,
        batches: list[Batch],
        producer: tuple[int, int, int],
        wanted: tuple[ErrorCode, ...],
    ) -> None:
        """Once it is refused, its record is one that nobody has sent."""
        last = batches[-1]
        labels = self.label(place, 1, 0, False)
        batch = Batch(labels, self._batch(labels, 0, producer), last.topic, last.index)
        what = f"produce {labels[0]} to {last.topic} {name(place)} with {producer}"
        code, offset = await self._ask_to_append(place, batch, what)
        is_known = self._is_there(place, last)
        if code is ErrorCode.NONE and not is_known:
            self.acknowledged(place, offset, labels)
            self._give_up_id()
        elif code is ErrorCode.NONE:
            self.world.fail(f"{what} is taken, and {wanted[0].name} was to be said")
        elif code in wanted:
            self.world.records.refused(labels[0])
        elif is_known and code in UNKNOWN_BATCH:
            self.world.fail(f"{what}: {code.name}, and not {wanted[0].name}")
