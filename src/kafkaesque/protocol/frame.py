"""A frame: an int32 with the size of what follows, then a header and a message.

    | size: int32 | header (header.py) | message (codec.py) |

Sans I/O: the connection owns the buffer; this says how much of it a frame takes, and puts the size
in front of what goes out.
"""

from struct import Struct
from typing import Final

from kafkaesque.errors import DecodeError
from kafkaesque.types import Buffer

SIZE_BYTES: Final = 4
MAX_FRAME_BYTES: Final = 104_857_600
"""Kafka's default of socket.request.max.bytes: 100 MiB."""

_SIZE: Final = Struct(">i")
_PLAIN: Final = Struct(">ii")
_FLEXIBLE: Final = Struct(">iiB")
_NO_TAGS: Final = 0
_SMALL_BYTES: Final = 8192


def frame(chunks: list[Buffer]) -> list[Buffer]:
    """The chunks of a whole frame, for `transport.writelines`. A small one is a single chunk:
    copying it costs less than the bookkeeping for several.
    """
    size = sum(map(len, chunks))
    whole = [_SIZE.pack(size), *chunks]
    return whole if size > _SMALL_BYTES else [b"".join(whole)]


def response_frame(correlation_id: int, flexible: bool, message: list[Buffer]) -> list[Buffer]:
    """`frame` with a response's header, in one go: every response of a broker comes by here."""
    size = (_FLEXIBLE.size if flexible else _PLAIN.size) - SIZE_BYTES + sum(map(len, message))
    if flexible:
        head = _FLEXIBLE.pack(size, correlation_id, _NO_TAGS)
    else:
        head = _PLAIN.pack(size, correlation_id)
    return [head, *message] if size > _SMALL_BYTES else [b"".join((head, *message))]


def frame_size(buffer: Buffer, position: int = 0, limit: int = MAX_FRAME_BYTES) -> int:
    """The size of the frame at `position`, without the four bytes that say it."""
    size: int = _SIZE.unpack_from(buffer, position)[0]
    if not 0 <= size <= limit:
        raise DecodeError(f"a frame of {size} bytes; the limit is {limit}")
    return size
