"""Ways to spoil a request: its bytes after it is encoded, or its fields before.

Spoilt bytes seldom decode; spoilt fields always do, and reach the code behind the decoder with
values that no client sends.
Above: fuzzer.py.
"""

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias
from uuid import UUID

from crc32c import crc32c

from kafkaesque.protocol.schema import ZERO_UUID, Field, Primitive, schema_of
from kafkaesque.records.batch import HEADER_SIZE, LOG_OVERHEAD
from kafkaesque.types import Buffer

_EXTREMES = (0, -1, -2, 1, 127, 128, 255, 32767, -32768, 65535, 2**31 - 1, -(2**31), 2**63 - 1)
_VARINTS = (b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80\x80\x80\x80\x08", b"\xff" * 11)
_TEXTS = ("", ".", "..", "a/../b", "\x00", "x" * 250, "ü" * 5000, " ", "__consumer_offsets", "\n")
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}

Another: TypeAlias = Callable[[], bytes]
_Damage: TypeAlias = Callable[[random.Random, bytearray, int, Another], bytearray]


def damage_bytes(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    """Spoil what follows `start`. `another` is where the other half of a splice comes from."""
    for _ in range(rng.choice((1, 1, 1, 2))):
        body = rng.choice(_DAMAGES)(rng, body, min(start, len(body)), another)
    return body


def _flip(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        if start < len(body):
            body[rng.randrange(start, len(body))] ^= 1 << rng.randrange(8)
    return body


def _extreme(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    """Overwrite what may be a length, a count or an offset."""
    if rng.random() < 0.3:
        value = rng.choice(_VARINTS)
    else:
        size = rng.choice((1, 2, 4, 8))
        value = (rng.choice(_EXTREMES) & (2 ** (8 * size) - 1)).to_bytes(size)
    at = rng.randint(start, max(start, len(body) - len(value)))
    body[at : at + len(value)] = value
    return body


def _truncate(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    return body[: rng.randint(start, len(body))]


def _splice(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    other = another()
    return body[: rng.randint(start, len(body))] + other[rng.randrange(len(other)) :]


def _insert(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    at = rng.randint(start, len(body))
    return body[:at] + rng.randbytes(rng.randint(1, 16)) + body[at:]


def _delete(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    at = rng.randint(start, len(body))
    return body[:at] + body[at + rng.randint(1, 8) :]


def _noise(rng: random.Random, body: bytearray, start: int, another: Another) -> bytearray:
    """Random bytes, from somewhere behind the header on."""
    at = rng.randint(min(max(start, 8), len(body)), len(body))
    return body[:at] + rng.randbytes(rng.randint(0, 64))


_DAMAGES: tuple[_Damage, ...] = (
    *(_flip, _flip, _flip, _flip, _extreme, _extreme),
    *(_truncate, _splice, _insert, _delete, _noise),
)


def repair_crc(body: bytearray, batch_at: int) -> None:
    """Give the batch that begins there the CRC that its bytes have now."""
    if len(body) < batch_at + HEADER_SIZE:
        return
    (length,) = struct.unpack_from(">i", body, batch_at + 8)
    end = batch_at + LOG_OVERHEAD + length
    end = end if batch_at + HEADER_SIZE <= end <= len(body) else len(body)
    struct.pack_into(">I", body, batch_at + 17, crc32c(bytes(body[batch_at + 21 : end])))


def damage_fields(rng: random.Random, message: Any, version: int) -> None:
    """Give a few fields of a message values that decode and make little sense."""
    places = list(_places(message, version))
    for owner, field in rng.sample(places, min(len(places), rng.choice((1, 1, 2, 3)))):
        setattr(owner, field.name, _senseless(rng, field, getattr(owner, field.name), version))


def _places(message: Any, version: int) -> Iterator[tuple[Any, Field]]:
    for field in schema_of(type(message)).fields:
        if field.exists_in(version):
            yield message, field
            value = getattr(message, field.name)
            if not isinstance(field.type, Primitive) and value is not None:
                for part in value if field.is_array else [value]:
                    yield from _places(part, version)


def _senseless(rng: random.Random, field: Field, value: Any, version: int) -> Any:
    if field.nullable_in(version) and rng.random() < 0.3:
        return None
    if field.is_array:
        return rng.choice(([], (value or []) * 2, (value or []) * 50))
    kind = field.type
    if not isinstance(kind, Primitive):
        return value
    if kind.name in _BITS:
        half = 1 << (_BITS[kind.name] - 1)
        return (rng.choice(_EXTREMES) + half) % (2 * half) - half
    if kind.name == "records":
        return _senseless_batch(rng, value)
    choices: dict[str, list[Any]] = {
        "boolean": [not value],
        "string": list(_TEXTS),
        "bytes": [b"", rng.randbytes(3), rng.randbytes(2000)],
        "uuid": [ZERO_UUID, UUID(int=1), UUID(int=rng.getrandbits(128))],
    }
    return rng.choice(choices[kind.name])


def _senseless_batch(rng: random.Random, batch: Buffer | None) -> bytearray:
    """Anything but its length and its magic, with a CRC that fits; or two in one; or none."""
    spoilt = bytearray(batch or bytes(HEADER_SIZE))
    how = rng.random()
    if how < 0.1:
        return spoilt * 2
    if how < 0.2:
        return spoilt[: rng.randrange(len(spoilt))]
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(21, len(spoilt))
        size = min(rng.choice((1, 2, 4, 8)), len(spoilt) - at)
        value = (rng.choice(_EXTREMES) & (2 ** (8 * size) - 1)).to_bytes(size)
        spoilt[at : at + size] = value if rng.random() < 0.5 else rng.randbytes(size)
    repair_crc(spoilt, 0)
    return spoilt
