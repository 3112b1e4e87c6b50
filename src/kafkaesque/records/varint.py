"""Variable-length integers as Kafka writes them: 7 bits a byte, lowest first, high bit = go on.

Unsigned varints count things (compact arrays, KRaft frames). Inside records, varint (32 bits) and
varlong (64 bits) are zigzag coded, so that small negative numbers are short as well: 0, -1, 1, -2
become 0, 1, 2, 3. A decoder takes (buffer, position) and gives (value, next position). Bytes that
end too early, or a number too wide, raise KafkaError(CORRUPT_MESSAGE). Above: record.py.
"""

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.types import Buffer

_ONE_BYTE = [bytes([value]) for value in range(0x80)]


def encode_unsigned_varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    if value < 0:
        raise ValueError(f"an unsigned varint cannot hold {value}")
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_varint(value: int) -> bytes:
    return encode_unsigned_varint(value << 1 if value >= 0 else ~(value << 1))


encode_varlong = encode_varint
"""The same bytes: only a reader has to know how wide a number may become."""


def decode_unsigned_varint(buffer: Buffer, position: int, bits: int = 32) -> tuple[int, int]:
    try:
        byte = buffer[position]
        value = byte & 0x7F
        shift = 7
        while byte & 0x80:
            if shift >= bits:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a varint runs past {bits} bits")
            position += 1
            byte = buffer[position]
            value |= (byte & 0x7F) << shift
            shift += 7
    except IndexError:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a varint is cut off") from None
    if value >> bits:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a varint does not fit {bits} bits")
    return value, position + 1


def decode_varint(buffer: Buffer, position: int, bits: int = 32) -> tuple[int, int]:
    # Nearly every number inside a record is one byte long.
    if position < len(buffer) and (byte := buffer[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, position = decode_unsigned_varint(buffer, position, bits)
    return (value >> 1) ^ -(value & 1), position


def decode_varlong(buffer: Buffer, position: int) -> tuple[int, int]:
    return decode_varint(buffer, position, 64)
