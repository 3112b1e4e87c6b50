"""Every API, version and direction against kio, whose classes are generated from Kafka's schemas.

Random messages of our classes are turned into kio's class of that version. Both must have the same
fields, our bytes must be kio's bytes, and kio's bytes must decode to the message again. kio drops
`_ms` from names, and wraps times, error codes and ids: `_to_kio` does so too.
"""

import dataclasses
import datetime
import importlib
import io
import re
import types
import typing
from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_writer
from tests.tiers import examples, few

from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import SIZE_BYTES, response_frame
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
)
from kafkaesque.protocol.messages import ASKED, FLEXIBLE_SINCE, MESSAGES, Api
from kafkaesque.protocol.messages.internal import ControlRecordKey, EndTxnMarker
from kafkaesque.protocol.schema import ZERO_UUID, Field, Primitive, schema_of

IN_CI = settings.get_current_profile_name() == "ci"
LAST_TIMESTAMP_MS = 253_402_300_799_000
INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXTS = st.text(max_size=8) | st.just("long " * 30)
INT32S = st.integers(-(2**31), 2**31 - 1)
NOT_IN_KIO = {"Produce": 3}
"""The versions below it are declared only to be refused; Kafka has dropped them."""
OWN_TAGS_FROM = 1000
"""Tagged fields of our own have these numbers; Kafka's schemas do not know them."""
BLOBS = st.binary(max_size=8) | st.just(bytes(200))


class Case(NamedTuple):
    api: Api
    version: int
    direction: str

    def __str__(self) -> str:
        return f"{self.api.name}-v{self.version}-{self.direction}"

    @property
    def ours(self) -> type[Any]:
        return self.api.request if self.direction == "request" else self.api.response

    @property
    def kios(self) -> type[Any]:
        package = re.sub(r"(?<!^)(?=[A-Z])", "_", self.api.name).lower()
        module = importlib.import_module(f"kio.schema.{package}.v{self.version}.{self.direction}")
        theirs: type[Any] = getattr(module, self.ours.__name__)
        return theirs


CASES = [
    Case(api, version, direction)
    for api in (*MESSAGES.values(), *ASKED)
    for direction in ("request", "response")
    for version in range(max(api.versions[0], NOT_IN_KIO.get(api.name, 0)), api.versions[1] + 1)
]
NEWEST_FIRST = sorted(CASES, key=lambda case: case.version < case.api.versions[1])
NEWEST = sum(case.version == case.api.versions[1] for case in CASES)


@pytest.mark.parametrize("case", few(NEWEST_FIRST, NEWEST), ids=str)
@settings(
    max_examples=200 if IN_CI else examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
@given(data=st.data())
def test_bytes_are_kios_bytes(case: Case, data: st.DataObject) -> None:
    message = data.draw(_messages_of(case))
    expected = _written_by_kio(_to_kio(message, case.kios))
    assert b"".join(encode(message, case.version)) == expected
    assert decode(case.ours, case.version, expected) == message


@pytest.mark.parametrize("case", CASES, ids=str)
def test_defaults_are_kafkas_where_the_wire_depends_on_them(case: Case) -> None:
    """A tagged field that has its default is not written: the two sides must mean the same one."""
    message = case.ours()
    expected = _written_by_kio(_to_kio(message, case.kios))
    assert b"".join(encode(message, case.version)) == expected
    assert decode(case.ours, case.version, expected) == message


@pytest.mark.parametrize("case", CASES, ids=str)
def test_header_versions_are_kios(case: Case) -> None:
    version = case.kios.__header_schema__.__version__
    if case.direction == "request":
        assert case.api.is_flexible(case.version) == (version == 2)
    else:
        assert case.api.has_flexible_response_header(case.version) == (version == 1)


@given(key=st.sampled_from(sorted(FLEXIBLE_SINCE)), id_=INT32S, client_id=st.none() | TEXTS)
@pytest.mark.parametrize("flexible", [False, True])
def test_request_headers_are_kios_bytes(
    flexible: bool, key: int, id_: int, client_id: str | None
) -> None:
    version = FLEXIBLE_SINCE[key] if flexible else -1
    kios = importlib.import_module(f"kio.schema.request_header.v{2 if flexible else 1}")
    expected = _written_by_kio(
        kios.RequestHeader(
            request_api_key=key,
            request_api_version=version,
            correlation_id=id_,
            client_id=client_id,
        )
    )
    header = RequestHeader(key, version, id_, client_id)
    assert encode_request_header(header, flexible) == expected
    assert decode_request_header(expected, FLEXIBLE_SINCE) == (header, len(expected))


@given(id_=INT32S)
@pytest.mark.parametrize("flexible", [False, True])
def test_response_headers_are_kios_bytes(flexible: bool, id_: int) -> None:
    kios = importlib.import_module(f"kio.schema.response_header.v{1 if flexible else 0}")
    expected = _written_by_kio(kios.ResponseHeader(correlation_id=id_))
    [frame] = response_frame(id_, flexible, [])
    assert frame[SIZE_BYTES:] == expected
    assert decode_response_header(expected, flexible) == (id_, len(expected))


@given(kind=st.integers(-(2**15), 2**15 - 1), coordinator_epoch=INT32S)
def test_control_records_are_kios_bytes(kind: int, coordinator_epoch: int) -> None:
    keys = importlib.import_module("kio.schema.control_record_type_schema.v0")
    values = importlib.import_module("kio.schema.end_txn_marker.v0")
    key, value = ControlRecordKey(type=kind), EndTxnMarker(coordinator_epoch=coordinator_epoch)
    expected = _written_by_kio(keys.ControlRecordTypeSchema(type_=kind))
    assert b"".join(encode(key, 0)) == expected
    expected = _written_by_kio(values.EndTxnMarker(coordinator_epoch=coordinator_epoch))
    assert b"".join(encode(value, 0)) == expected


@cache
def _messages_of(case: Case) -> st.SearchStrategy[Any]:
    return _messages(case.ours, case.kios, case.version)


def _messages(ours: type[Any], kios: type[Any], version: int) -> st.SearchStrategy[Any]:
    fields = [
        field
        for field in schema_of(ours).fields
        if field.exists_in(version) and (field.tag or 0) < OWN_TAGS_FROM
    ]
    theirs = {_our_name(field): field for field in dataclasses.fields(kios)}
    assert {field.name for field in fields} == set(theirs)
    return st.builds(ours, **{f.name: _values(f, theirs[f.name], version) for f in fields})


def _values(ours: Field, kios: "dataclasses.Field[Any]", version: int) -> st.SearchStrategy[Any]:
    if isinstance(ours.type, Primitive):
        values = _primitives(ours.type, kios)
    else:
        values = _messages(ours.type, _entity(kios.type), version)
        if ours.tag is not None and not ours.is_array:
            default = ours.type()
            values = values.filter(lambda value: value != default)
    if ours.is_array:
        values = st.lists(values, max_size=3)
    return st.none() | values if ours.nullable_in(version) else values


def _primitives(kind: Primitive, kios: "dataclasses.Field[Any]") -> st.SearchStrategy[Any]:
    kafka_type = kios.metadata["kafka_type"]
    if kafka_type == "error_code":
        return st.sampled_from([code.value for code in KioErrorCode])
    if kafka_type == "datetime_i64":
        # -1 is None to kio, and not every time may be None there.
        may_be_none = types.NoneType in typing.get_args(kios.type)
        return st.integers(-1 if may_be_none else 0, LAST_TIMESTAMP_MS)
    if kafka_type == "timedelta_i64":
        return st.integers(-LAST_TIMESTAMP_MS, LAST_TIMESTAMP_MS)
    if kind.name in INTEGER_BITS:
        limit = 2 ** (INTEGER_BITS[kind.name] - 1)
        return st.integers(-limit, limit - 1)
    return {
        "boolean": st.booleans(),
        "bytes": BLOBS,
        "float64": st.floats(allow_nan=False),
        "records": BLOBS,
        "string": TEXTS,
        "uint16": st.integers(0, 2**16 - 1),
        "uuid": st.uuids() | st.just(ZERO_UUID),
    }[kind.name]


def _our_name(kios: "dataclasses.Field[Any]") -> str:
    is_time = "time" in kios.metadata.get("kafka_type", "")
    return f"{kios.name}_ms" if is_time else kios.name


def _entity(annotation: Any) -> type[Any]:
    """The class in `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    if dataclasses.is_dataclass(annotation):
        assert isinstance(annotation, type)
        return annotation
    parts = [p for p in typing.get_args(annotation) if p not in (types.NoneType, Ellipsis)]
    return _entity(parts[0])


def _to_kio(message: Any, kios: type[Any]) -> Any:
    return kios(**{f.name: _value_to_kio(message, f) for f in dataclasses.fields(kios)})


def _value_to_kio(message: Any, kios: "dataclasses.Field[Any]") -> Any:
    value = getattr(message, _our_name(kios))
    kafka_type = kios.metadata.get("kafka_type")
    if isinstance(value, list) and kafka_type is None:
        entity = _entity(kios.type)
        return tuple(_to_kio(element, entity) for element in value)
    if isinstance(value, list):
        return tuple(value)
    if kafka_type is None:
        return kios.default if value is None and "tag" in kios.metadata else _struct(value, kios)
    if kafka_type == "uuid":
        return None if value == ZERO_UUID else value
    if kafka_type == "error_code":
        return KioErrorCode(value)
    if kafka_type.startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if kafka_type.startswith("datetime"):
        return None if value == -1 else datetime.datetime.fromtimestamp(value / 1000, datetime.UTC)
    return value


def _struct(value: Any, kios: "dataclasses.Field[Any]") -> Any:
    return None if value is None else _to_kio(value, _entity(kios.type))


def _written_by_kio(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()
