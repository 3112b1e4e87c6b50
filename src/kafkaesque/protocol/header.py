"""What stands before every message in a frame.

    request v1    api_key int16, api_version int16, correlation_id int32, client_id nullable string
    request v2    the same, then tagged fields; client_id keeps its int16 length (KIP-482)
    response v0   correlation_id int32
    response v1   the same, then tagged fields

A flexible request has header v2 and a flexible response v1, but for ApiVersions, whose response
keeps v0: a client asks before it knows what the broker can do (KIP-511). `Api` in messages/ tells.
What a broker answers is written in one go with its size, in frame.py.
"""

from collections.abc import Mapping
from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.wire import skip_tags
from kafkaesque.types import Buffer

_REQUEST: Final = Struct(">hhih")
_RESPONSE: Final = Struct(">i")
_NULL: Final = -1


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None


def decode_request_header(
    data: Buffer, flexible_since: Mapping[int, int]
) -> tuple[RequestHeader, int]:
    """The header and the position of the message. `flexible_since` maps an API to a version.

    Of an API that is not in the mapping, the message cannot be decoded anyway; its header is.
    """
    try:
        api_key, api_version, correlation_id, size = _REQUEST.unpack_from(data)
        position = _REQUEST.size
        client_id = None
        if size != _NULL:
            stop = position + size
            if not position <= stop <= len(data):
                raise DecodeError("request header: the length of client_id does not fit")
            client_id = str(data[position:stop], "utf-8")
            position = stop
        first_flexible = flexible_since.get(api_key)
        if first_flexible is not None and api_version >= first_flexible:
            position = _skip_all_tags(data, position)
    except (IndexError, struct_error) as error:
        raise DecodeError("request header: cut short") from error
    except UnicodeDecodeError as error:
        raise DecodeError("request header: client_id is not UTF-8") from error
    return RequestHeader(api_key, api_version, correlation_id, client_id), position


def encode_request_header(header: RequestHeader, flexible: bool) -> bytes:
    client_id = b"" if header.client_id is None else header.client_id.encode()
    size = _NULL if header.client_id is None else len(client_id)
    fixed = _REQUEST.pack(header.api_key, header.api_version, header.correlation_id, size)
    return fixed + client_id + (b"\x00" if flexible else b"")


def decode_response_header(data: Buffer, flexible: bool) -> tuple[int, int]:
    """The correlation id and the position of the message."""
    try:
        correlation_id: int = _RESPONSE.unpack_from(data)[0]
        position = _RESPONSE.size
        return correlation_id, _skip_all_tags(data, position) if flexible else position
    except (IndexError, struct_error) as error:
        raise DecodeError("response header: cut short") from error


def _skip_all_tags(data: Buffer, position: int) -> int:
    count = data[position]
    return skip_tags(data, position + 1, count) if count else position + 1
