"""Murmur2, 32 bits, as Java's client computes it: which partition a key belongs to.

Every writer of ours places keys by this, as Java and rpk do: `key1` goes to partition 2 of 3.
(librdkafka's own default is CRC-32, which would put the same key elsewhere in a mixed system.)
"""

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The hash as Java's signed 32-bit int."""
    length = len(data)
    whole = length & ~3
    result = _SEED ^ length
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        result = (result * _MULTIPLIER & _MASK) ^ word
    if length > whole:
        result = (result ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    result = (result ^ result >> 13) * _MULTIPLIER & _MASK
    result ^= result >> 15
    return result - (1 << 32) if result >> 31 else result


def partition_for_key(key: bytes, partitions: int) -> int:
    # Java clears the sign bit, which is not the absolute value.
    return (murmur2(key) & 0x7FFFFFFF) % partitions
