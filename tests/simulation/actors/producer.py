"""Producers: plain ones, and idempotent ones that send again what is in doubt."""

from dataclasses import dataclass

from tests.simulation.actors.actor import Actor
from tests.simulation.actors.batches import NO_PRODUCER, labelled_batch, produce_request
from tests.simulation.model.records import Key, Sent, name

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.init_producer_id import InitProducerIdRequest

_ALL = -1
_BEGIN_ANEW = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
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
        self, place: Key, base_offset: int, labels: list[int], *, is_flushed: bool = True
    ) -> None:
        if is_flushed:
            self.world.acknowledged(place, base_offset + len(labels) - 1)
        for number, label in enumerate(labels):
            self.world.promised(place, base_offset + number, label, is_flushed=is_flushed)


@dataclass(slots=True)
class _InDoubt:
    labels: list[int]
    batch: bytearray


class IdempotentProducer(Producer):
    """Keeps its id through the lives of the broker. What is in doubt goes first, as it was."""

    _producer = NO_PRODUCER[:2]

    def __init__(self, name: str, world: object) -> None:
        super().__init__(name, world)  # type: ignore[arg-type]
        self._next_sequence: dict[Key, int] = {}
        self._in_doubt: dict[Key, list[_InDoubt]] = {}

    async def begin(self) -> None:
        answer = await self.ask(InitProducerIdRequest(), 4)
        code = self.code(answer.error_code)
        self.note(f"producer id {answer.producer_id}: {code.name}")
        if code is ErrorCode.NONE:
            self._producer = answer.producer_id, answer.producer_epoch
            self.world.given_producer_id(*self._producer)
            self._next_sequence.clear()
            self._in_doubt.clear()

    async def produce_in_sequence(self, topic: str, index: int, count: int, key: int) -> None:
        place = self.partition(topic, index)
        if self._producer[0] < 0:
            await self.begin()
        if place is None or self._producer[0] < 0:
            return
        doubts = self._in_doubt.setdefault(place, [])
        sequence = self._next_sequence.get(place, 0)
        labels = self.label(place, count, key, False)
        producer = *self._producer, sequence
        batch = labelled_batch(labels, b"key%d" % key, b"i", self.world.clock(), producer)
        self._next_sequence[place] = sequence + count
        doubts.append(_InDoubt(labels, batch))
        while doubts and self._in_doubt.get(place) is doubts:
            if not await self._send(topic, place, doubts[0]):
                return
            doubts.pop(0)

    async def _send(self, topic: str, place: Key, doubt: _InDoubt) -> bool:
        labels = doubt.labels
        what = f"produce {labels[0]}…{labels[-1]} to {topic} {name(place)} in sequence"
        self.note(f"{what} as {self._producer}")
        answer = await self.ask(produce_request({place: doubt.batch}), 13)
        found = answer.responses[0].partition_responses[0]
        code = self.code(found.error_code)
        self.note(f"{what}: {code.name} at {found.base_offset}")
        self.world.check_storage_error(code, topic, place)
        if code is ErrorCode.NONE:
            self.acknowledged(place, found.base_offset, labels)
        elif code in _BEGIN_ANEW:
            self._producer = NO_PRODUCER[:2]
            self._in_doubt.clear()
        return code is ErrorCode.NONE
