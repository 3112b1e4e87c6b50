"""Request and response headers, flexible and not, whole and damaged.

tests/property/test_protocol_kio.py compares their bytes with kio's; here is what happens to bytes
that are cut short, carry unknown tagged fields, or belong to an API that we do not know.
"""

import pytest

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.frame import SIZE_BYTES, response_frame
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
)
from kafkaesque.protocol.messages import FLEXIBLE_SINCE, MESSAGES

PRODUCE, OFFSET_DELETE, UNKNOWN = 0, 47, 9999


@pytest.mark.parametrize("client_id", [None, "", "rdkafka", "ключ"])
@pytest.mark.parametrize(("version", "flexible"), [(8, False), (9, True)])
def test_a_request_header_survives(client_id: str | None, version: int, flexible: bool) -> None:
    header = RequestHeader(PRODUCE, version, 42, client_id)
    data = encode_request_header(header, flexible)
    assert decode_request_header(data + b"body", FLEXIBLE_SINCE) == (header, len(data))


def test_tagged_fields_of_a_flexible_header_are_skipped() -> None:
    data = encode_request_header(RequestHeader(PRODUCE, 9, 42, "c"), False) + b"\x01\x07\x02xy"
    _, position = decode_request_header(data + b"body", FLEXIBLE_SINCE)
    assert data[position:] == b""


def test_a_tagged_field_that_does_not_fit_is_refused() -> None:
    data = encode_request_header(RequestHeader(PRODUCE, 9, 42, "c"), False) + b"\x01\x07\x03xy"
    with pytest.raises(DecodeError, match="3 bytes do not fit"):
        decode_request_header(data, FLEXIBLE_SINCE)


@pytest.mark.parametrize("key", [OFFSET_DELETE, UNKNOWN])
def test_an_api_that_has_no_flexible_version_has_a_plain_header(key: int) -> None:
    header = RequestHeader(key, 20, 42, "c")
    data = encode_request_header(header, False)
    assert decode_request_header(data, FLEXIBLE_SINCE) == (header, len(data))


@pytest.mark.parametrize("flexible", [False, True])
def test_a_request_header_cut_at_any_byte_is_refused(flexible: bool) -> None:
    data = encode_request_header(RequestHeader(PRODUCE, 9 if flexible else 8, 42, "c"), flexible)
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            decode_request_header(data[:size], FLEXIBLE_SINCE)


@pytest.mark.parametrize("client_id", [b"\xff\xfe", b"\x00\x05abc", b"\x00\x01\xff"])
def test_a_client_id_that_is_not_a_string_is_refused(client_id: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_request_header(bytes(8) + client_id, FLEXIBLE_SINCE)


@pytest.mark.parametrize("flexible", [False, True])
def test_a_response_header_survives_and_is_refused_when_cut(flexible: bool) -> None:
    [frame] = response_frame(42, flexible, [])
    data = bytes(frame[SIZE_BYTES:])
    assert decode_response_header(data + b"body", flexible) == (42, len(data))
    for size in range(len(data)):
        with pytest.raises(DecodeError):
            decode_response_header(data[:size], flexible)


def test_only_api_versions_keeps_its_response_header_when_it_is_flexible() -> None:
    exceptions = [
        api.name
        for api in MESSAGES.values()
        for version in range(api.versions[0], api.versions[1] + 1)
        if api.is_flexible(version) != api.has_flexible_response_header(version)
    ]
    assert exceptions == ["ApiVersions", "ApiVersions"]
