"""Frames that are almost right: valid ones with something wrong in them.

A mutant is one frame. Half of the mutants of a Produce request get the CRC of their record batch
repaired after the damage, so that they are not all stopped by the same check. Seeded: the same seed
makes the same mutants, given the same surroundings.
Above: test_fuzz.py. Below: damage.py, valid_requests.py.
"""

import random
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.crash.damage import damage_bytes, damage_fields, repair_crc
from tests.crash.valid_requests import CASES, Surroundings, valid_request
from tests.wire.client import request_frame

from kafkaesque.broker.apis import APIS
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.codec import decode
from kafkaesque.protocol.header import decode_request_header
from kafkaesque.protocol.messages import FLEXIBLE_SINCE, MESSAGES
from kafkaesque.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkaesque.protocol.messages.create_topics import CreateTopicsRequest

PRODUCE = 0
_PREFIX = struct.Struct(">i")
_FRAME_SIZES = (-1, -(2**31), 2**31 - 1, 0, 1, 7, 100 * 2**20, 100 * 2**20 + 1)
_FEW_PARTITIONS = 8
_REFUSED_PARTITIONS = 10_000


class Mutant(NamedTuple):
    """Bytes to send. After `ends_connection` the broker may be anywhere in the stream, or gone."""

    data: bytes
    ends_connection: bool


class Fuzzer:
    """An endless supply of mutants."""

    def __init__(self, seed: int, around: Surroundings) -> None:
        self._rng = random.Random(seed)
        self._around = around

    def valid(self, key: int, version: int) -> bytes:
        return self._frame(valid_request(self._rng, key, version, self._around), version)

    def mutant(self) -> Mutant:
        while True:
            mutant = self._mutant()
            if _is_bounded(mutant):
                return mutant

    def _mutant(self) -> Mutant:
        rng = self._rng
        key, version = rng.choice(CASES) if rng.random() < 0.8 else (PRODUCE, rng.randint(3, 13))
        request = valid_request(rng, key, version, self._around)
        how = rng.random()
        if 0.05 < how < 0.5:
            damage_fields(rng, request, version)
        frame = self._frame(request, version)
        if how < 0.5:
            return Mutant(frame, ends_connection=not decodes(frame))
        if how < 0.53:
            return Mutant(_PREFIX.pack(rng.choice(_FRAME_SIZES)) + frame[4:], ends_connection=True)
        if how < 0.56:
            return Mutant(frame[: rng.randrange(1, len(frame))], ends_connection=True)
        data = self._spoilt(frame, _batch_position(frame, request))
        return Mutant(data, ends_connection=not decodes(data))

    def _spoilt(self, frame: bytes, batch_at: int | None) -> bytes:
        """Damage the bytes; if they have a batch, half of the time in the batch alone, unseen."""
        repaired = batch_at is not None and self._rng.random() < 0.5
        start = batch_at - 4 if batch_at is not None and repaired else 0
        body = damage_bytes(self._rng, bytearray(frame[4:]), start, self._another)
        if repaired:
            repair_crc(body, start)
        return _PREFIX.pack(len(body)) + body

    def _frame(self, request: Any, version: int) -> bytes:
        return request_frame(request, version, self._rng.getrandbits(31), "fuzz")

    def _another(self) -> bytes:
        return self.valid(*self._rng.choice(CASES))[4:]


def _batch_position(frame: bytes, request: Any) -> int | None:
    for topic in getattr(request, "topic_data", []):
        for partition in topic.partition_data:
            if partition.records:
                return frame.find(partition.records)
    return None


def decodes(data: bytes) -> bool:
    """Whether the broker takes this frame for a request and keeps the connection."""
    try:
        _decoded(data)
    except KafkaError:
        return False
    return True


def _decoded(data: bytes) -> Any:
    header, position = decode_request_header(data[4:], FLEXIBLE_SINCE)
    api = APIS.get(header.api_key)
    if api is None or not api.min_version <= header.api_version <= api.max_version:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return decode(MESSAGES[header.api_key].request, header.api_version, data[4:], position)


def _is_bounded(mutant: Mutant) -> bool:
    """A mutant may ask for a few partitions, or for more than the broker grants. What is between
    is load, not bad input.
    """
    counts = [count for frame in _frames(mutant.data) for count in _partitions_asked_for(frame)]
    return all(count <= _FEW_PARTITIONS or count > _REFUSED_PARTITIONS for count in counts)


def _frames(data: bytes) -> Iterator[bytes]:
    position = 0
    while len(data) - position >= 4:
        (size,) = _PREFIX.unpack_from(data, position)
        if not 0 <= size <= len(data) - position - 4:
            return
        yield data[position : position + 4 + size]
        position += 4 + size


def _partitions_asked_for(frame: bytes) -> list[int]:
    if frame[4:6] not in (b"\x00\x13", b"\x00\x25"):
        return []
    try:
        request = _decoded(frame)
    except KafkaError:
        return []
    if isinstance(request, CreateTopicsRequest):
        return [max(topic.num_partitions, len(topic.assignments)) for topic in request.topics]
    assert isinstance(request, CreatePartitionsRequest)
    return [topic.count for topic in request.topics]
