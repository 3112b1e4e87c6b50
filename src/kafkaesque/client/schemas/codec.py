"""A codec: how the values of one schema become payloads, and back. It is made once per schema.

`codec_of_id` makes the one that a record's id asks for. A Protobuf schema is asked for as the
registry's `format=serialized`, which needs no compiler here.
Above: client/schema_forms/, client/decoder.py. Below: avro.py, json_schema.py, protobuf.py.
"""

from typing import Any, Protocol, TypeAlias

from kafkaesque.client.registry import Reference, RegistryClient, Schema

SERIALIZED = "serialized"


class Codec(Protocol):
    def encode(self, value: Any) -> bytes:
        """The payload. Raises TypeError or ValueError that names the field that does not fit."""

    def decode(self, payload: bytes) -> Any:
        """The value, in Python's own types."""

    def to_json(self, payload: bytes) -> Any:
        """The value as JSON has it: nothing but dict, list, str, int, float, bool and None."""


class Resolve(Protocol):
    def __call__(self, reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
        """The schema that is referred to."""


Maker: TypeAlias = Any


def codec(schema: Schema, resolve: Resolve, reader: Schema | None = None) -> Codec:
    """`reader` is the schema to read as: Avro resolves to it, JSON is checked against it.

    Raises ValueError if the schema is none.
    """
    return _maker(schema.type)(schema, resolve, reader)  # type: ignore[no-any-return]


def codec_of_id(
    registry: RegistryClient,
    schema_id: int,
    *,
    subject: str | None = None,
    reader: Schema | None = None,
) -> Codec:
    """This asks the registry. Raises RegistryError, RegistryAwayError."""
    schema = registry.schema(schema_id, subject=subject)
    if schema.type == "PROTOBUF":
        schema = registry.schema(schema_id, subject=subject, format=SERIALIZED)
    return codec(schema, resolver(registry), reader)


def resolver(registry: RegistryClient) -> Resolve:
    def resolve(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
        # A schema may refer to a version that was deleted since.
        return registry.version(
            reference.subject, reference.version, deleted=True, format=format
        ).schema

    return resolve


def _maker(kind: str) -> Maker:
    try:
        if kind == "AVRO":
            from kafkaesque.client.schemas.avro import avro_codec

            return avro_codec
        if kind == "JSON":
            from kafkaesque.client.schemas.json_schema import json_codec

            return json_codec
        if kind == "PROTOBUF":
            from kafkaesque.client.schemas.protobuf import protobuf_codec

            return protobuf_codec
    except ImportError as error:
        raise ImportError(
            f"{kind} schemas need {error.name}, which is not installed: "
            "pip install 'kafkaesque-broker[schemas]'"
        ) from error
    raise ValueError(f"there is no codec for {kind} schemas: AVRO, JSON and PROTOBUF have one")
