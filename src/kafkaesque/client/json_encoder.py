"""JSON into framed bytes, by a schema of a registry: what `topic produce` and POST take.

    encoder = encoder_of_id(registry, 7)
    encoder.encode({"ticker": "AMZN", "price": 101.5})      0 | 7 | payload

The way back of decoder.py. A value that does not fit raises UnfitError, which names the field.
Above: cli/topic/produce.py, gateway/events/. Below: registry/, schemas/, avro_json.py.
"""

import re
from typing import TYPE_CHECKING, Any

from kafkaesque.client.avro_json import avro_value

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient, Schema
    from kafkaesque.client.schemas import Codec

_FIELD = re.compile(r"field ([^\s:]+)")
_NO_FIELD = re.compile(r'has no field named "([^"]+)"')
_BAD_FIELD = re.compile(r"Failed to parse (\S+) field: (.*)", re.DOTALL)


class UnfitError(ValueError):
    """A value that its schema does not take; `field` is the path of what is wrong, if known."""

    def __init__(self, message: str, field: str | None) -> None:
        super().__init__(message)
        self.field = field


class JsonEncoder:
    """`name` says which schema it is, to people."""

    def __init__(self, schema_id: int, codec: "Codec", kind: str, name: str) -> None:
        self.schema_id = schema_id
        self.name = name
        self._codec = codec
        self._kind = kind

    def encode(self, value: Any) -> bytes:
        """The value is as json.loads gives it. Raises UnfitError."""
        from kafkaesque.client.schemas import frame

        try:
            return frame(self.schema_id, self._payload(value))
        except (TypeError, ValueError, RecursionError) as error:
            raise self._unfit(error) from None

    def _payload(self, value: Any) -> bytes:
        codec: Any = self._codec
        if self._kind == "AVRO":
            from kafkaesque.client.schemas.avro_parsing import named_types

            names = named_types(codec.schema)
            return bytes(codec.encode(avro_value(codec.schema, names, value)))
        if self._kind == "PROTOBUF":
            return bytes(codec.encode(_message(codec, value)))
        return bytes(codec.encode(value))

    def _unfit(self, error: Exception) -> UnfitError:
        message = str(error) or "it is nested too deeply"
        found = _FIELD.search(message)
        return UnfitError(f"{message} ({self.name})", found[1] if found else None)


def encoder_of_id(registry: "RegistryClient", schema_id: int) -> JsonEncoder:
    """This asks the registry. Raises RegistryError; ValueError if the schema is none."""
    schema = registry.schema(schema_id)
    return _encoder(registry, schema_id, schema, f"schema {schema_id}")


def encoder_of_subject(registry: "RegistryClient", subject: str) -> JsonEncoder:
    """By the subject's latest version."""
    found = registry.version(subject, "latest")
    name = f"subject {subject}, version {found.version}, schema {found.id}"
    return _encoder(registry, found.id, found.schema, name)


def encoder_of_schema(registry: "RegistryClient", subject: str, schema: "Schema") -> JsonEncoder:
    """Registers the schema first."""
    found = registry.register(subject, schema)
    return _encoder(registry, found.id, schema, f"subject {subject}, schema {found.id}")


def _encoder(
    registry: "RegistryClient", schema_id: int, schema: "Schema", name: str
) -> JsonEncoder:
    from kafkaesque.client.schemas import codec_of_id

    return JsonEncoder(schema_id, codec_of_id(registry, schema_id), schema.type, name)


def _message(codec: Any, value: Any) -> Any:
    """Of the file's first message, by Protobuf's JSON mapping."""
    from google.protobuf import json_format

    message = codec.message(b"\0")
    try:
        json_format.ParseDict(value, message, descriptor_pool=message.DESCRIPTOR.file.pool)
    except json_format.ParseError as error:
        raise ValueError(_protobuf_words(str(error))) from None
    except AttributeError:  # It takes for an object what is none.
        raise ValueError("the value takes an object") from None
    return message


def _protobuf_words(text: str) -> str:
    if found := _NO_FIELD.search(text):
        return f"field {found[1]}: the message has no such field"
    if found := _BAD_FIELD.search(text):
        return f"field {found[1]}: {found[2].splitlines()[0]}"
    return text.splitlines()[0]
