"""Keys and values that are typed as JSON, encoded by a schema: `topic produce --schema …`.

A schema is named by its id, by a subject (its latest version), or by a file, which is registered
for the topic first. A value has to be JSON that its schema takes; a key may also be a text without
quotes. What is wrong is said with the record, the field and the schema, and the record is not sent.
Above: produce.py. Below: client/json_encoder.py, ../schema/schema_input.py.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kafkaesque.cli.output import CommandError
from kafkaesque.cli.schema.failures import in_our_words
from kafkaesque.cli.schema.schema_input import BY_SUFFIX, SchemaType, read_schema
from kafkaesque.cli.topic.record_input import InputError
from kafkaesque.client.record import Record

if TYPE_CHECKING:
    from kafkaesque.client.json_encoder import JsonEncoder
    from kafkaesque.client.registry import RegistryClient


@dataclass(frozen=True, slots=True)
class SchemaChoice:
    """Of keys or of values, as the command line says it; `part` is key or value."""

    part: str
    schema_id: int | None
    schema: str | None

    def __post_init__(self) -> None:
        if self.schema_id is not None and self.schema is not None:
            raise typer.BadParameter(f"give {self.option}-id or {self.option}, not both")

    @property
    def is_made(self) -> bool:
        return self.schema_id is not None or self.schema is not None

    @property
    def option(self) -> str:
        return "--schema" if self.part == "value" else "--key-schema"

    def encoder(
        self, registry: "RegistryClient", topic: str, kind: SchemaType | None
    ) -> "JsonEncoder":
        """This asks the registry, and registers what is in a file."""
        from kafkaesque.client.json_encoder import (
            encoder_of_id,
            encoder_of_schema,
            encoder_of_subject,
        )

        if self.schema_id is not None:
            return encoder_of_id(registry, self.schema_id)
        assert self.schema is not None
        path = Path(self.schema)
        if not path.is_file():
            if path.suffix.lower() in BY_SUFFIX:
                raise CommandError(f"there is no file {path}: correct {self.option}")
            return encoder_of_subject(registry, self.schema)
        if not topic:
            raise typer.BadParameter(
                f"a schema of a file is registered for one topic: name a TOPIC, or a subject with "
                f"{self.option}"
            )
        return encoder_of_schema(
            registry, f"{topic}-{self.part}", read_schema(path, kind or _kind(path), ())
        )


class Encoding:
    """How keys and values become bytes; None where they are bytes as they are typed."""

    def __init__(self, key: "JsonEncoder | None", value: "JsonEncoder | None") -> None:
        self._key = key
        self._value = value

    def encoded(self, records: Iterator[Record], noun: str) -> Iterator[Record]:
        """`noun` is what a record is to whoever has typed it: a record, or a line."""
        for number, record in enumerate(records, 1):
            try:
                yield self._encoded(record)
            except ValueError as error:
                raise InputError(
                    f"{noun} {number} of the input cannot be sent: {error}; "
                    "what is before it is sent"
                ) from None

    def _encoded(self, record: Record) -> Record:
        if self._value is not None and record.value is not None:
            record = replace(record, value=_of("value", self._value, _value_json(record.value)))
        if self._key is not None and record.key is not None:
            record = replace(record, key=_of("key", self._key, _key_json(record.key)))
        return record


def chosen_encoding(
    key: SchemaChoice,
    value: SchemaChoice,
    registry: "RegistryClient | None",
    topic: str,
    kind: SchemaType | None,
) -> Encoding | None:
    """None if no schema is named."""
    if not (key.is_made or value.is_made):
        return None
    if registry is None:
        raise typer.BadParameter(
            "a schema needs a registry: name it with --registry, or with KAFKAESQUE_REGISTRY",
            param_hint=(value if value.is_made else key).option,
        )
    with in_our_words():
        try:
            return Encoding(
                key.encoder(registry, topic, kind) if key.is_made else None,
                value.encoder(registry, topic, kind) if value.is_made else None,
            )
        except (ImportError, ValueError) as error:
            raise CommandError(f"the schema cannot be used: {error}") from None


def _of(part: str, encoder: "JsonEncoder", said: Any) -> bytes:
    try:
        return encoder.encode(said)
    except ValueError as error:
        raise ValueError(f"{part}: {error}") from None


def _value_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"value: with a schema it has to be JSON ({error})") from None


def _key_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode(errors="replace")


def _kind(path: Path) -> SchemaType:
    return BY_SUFFIX.get(path.suffix.lower(), SchemaType.AVRO)
