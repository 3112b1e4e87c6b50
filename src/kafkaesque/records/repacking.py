"""A batch in another codec: its header with another length, codec and CRC, its records as they
were.

What is compressed is all that follows the header, in one piece, so no record has to be looked at.
"""

import struct

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, LOG_OVERHEAD, crc_matches, read_header, write_crc
from kafkaesque.records.compression import Codec, compress, decompress
from kafkaesque.types import Buffer

MAX_UNPACKED_BYTES = 32 << 20
"""A batch of a few kilobytes may claim to hold gigabytes."""

_LENGTH_AT = 8
_ATTRIBUTES_AT = 21
_CODEC = 0b111


def repacked(batch: Buffer, codec: Codec, max_unpacked: int = MAX_UNPACKED_BYTES) -> bytearray:
    """The same records in this codec. Raises CORRUPT_MESSAGE for what does not unpack,
    TooLargeError for what unpacks to more than that.
    """
    header = read_header(batch)
    if header.size != len(batch) or not crc_matches(batch, 0, header):
        # A new CRC would make bytes believed that have come to harm on their way.
        message = "the batch's length or CRC does not match its bytes"
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
    packed = memoryview(batch)[HEADER_SIZE:]
    records = decompress(Codec(header.attributes & _CODEC), packed, max_unpacked)
    result = bytearray(memoryview(batch)[:HEADER_SIZE]) + compress(codec, records)
    struct.pack_into(">i", result, _LENGTH_AT, len(result) - LOG_OVERHEAD)
    struct.pack_into(">h", result, _ATTRIBUTES_AT, header.attributes & ~_CODEC | codec)
    write_crc(result, 0, len(result))
    return result
