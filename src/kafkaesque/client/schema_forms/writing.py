"""Values to framed bytes: the schema is registered, or found, when a topic is first written to.

What is found out for a topic is kept: for each further event there is one look into a dict, and
the codec. A registry that refuses, or is away, is an error of the `send` that needed it; nothing is
sent then, and the next one asks again. Any thread may call. Above: forms.py. Below: given.py.
"""

import json
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

from kafkaesque.client.registry import (
    Registered,
    RegistryAwayError,
    RegistryClient,
    RegistryError,
    Schema,
    SchemaKind,
)
from kafkaesque.client.schema_forms.given import Given
from kafkaesque.client.schema_forms.options import SchemaOptions
from kafkaesque.client.schemas.codec import codec, codec_of_id, resolver
from kafkaesque.client.schemas.framing import header
from kafkaesque.client.serde import Serde


class SchemaWriter:
    def __init__(
        self,
        name: str,
        kind: SchemaKind,
        part: str,
        given: Given,
        options: SchemaOptions,
        registry: Callable[[], RegistryClient],
    ) -> None:
        self._name = name
        self._kind: SchemaKind = kind
        self._part = part
        self._given = given
        self._options = options
        self._registry = registry
        self._topics: dict[str, Serde] = {}
        self._lock = threading.Lock()

    def for_topic(self, topic: str) -> Serde:
        """Raises RegistryError, and TypeError or ValueError for a schema that is none."""
        known = self._topics.get(topic)
        if known is None:
            with self._lock:
                known = self._topics.get(topic) or self._made(topic)
                self._topics[topic] = known
        return known

    def _made(self, topic: str) -> Serde:
        if self._given.is_nothing and not self._options.use_latest:
            word = "schema" if self._part == "value" else "key_schema"
            raise TypeError(
                f"{self._part}={self._name!r} has no schema to write with: give {word}=, or "
                "use_latest=True for the one that the subject has"
            )
        subject = self._options.subject_of(topic, self._part, self._record)
        schema_id, payload_of = self._placed(subject)
        head, prepare = header(schema_id), self._prepare

        def encode(value: Any) -> bytes:
            return head + payload_of(value if prepare is None else prepare(value))

        return Serde(encode, _no_decode, f"{self._name} for subject {subject}")

    def _placed(self, subject: str) -> tuple[int, Callable[[Any], bytes]]:
        registry = self._registry()
        if self._given.id is not None:
            schema_id = self._given.id
            self._require_kind(registry.schema(schema_id, subject=subject), f"schema {schema_id}")
        elif self._options.use_latest:
            latest = registry.version(subject, "latest")
            self._require_kind(latest.schema, f"the latest version of {subject}")
            schema_id = latest.id
        else:
            place = self._place(subject, self._own(registry))
            return place.id, self._payload_of(registry, place.id)
        return schema_id, codec_of_id(registry, schema_id, subject=subject).encode

    def _place(self, subject: str, schema: Schema) -> Registered:
        """Registered, or found if it must be there already."""
        registry, normalize = self._registry(), self._options.normalize
        try:
            if not self._options.auto_register:
                return registry.lookup(subject, schema, normalize=normalize)
            place = registry.register(subject, schema, normalize=normalize)
            if place.version or schema.type != "PROTOBUF":
                return place
            # Older registries tell no version, and a reference needs it.
            return registry.lookup(subject, schema, normalize=normalize)
        except RegistryAwayError:
            raise
        except RegistryError as error:
            cure = ""
            if error.is_unknown and not self._options.auto_register:
                cure = "; register it first, or leave out auto_register=False"
            raise RegistryError(
                f"subject {subject} has no place for the schema: {error}{cure}",
                error.code,
                error.status,
            ) from error

    def _own(self, registry: RegistryClient) -> Schema:
        """The schema that was given, or what is derived of the class that was."""
        if self._given.message is not None:
            from kafkaesque.client.schemas.generated import schema_of_class

            return schema_of_class(self._given.message, self._place)
        return self._schema

    def _payload_of(self, registry: RegistryClient, schema_id: int) -> Callable[[Any], bytes]:
        if self._given.message is not None:
            from kafkaesque.client.schemas.generated import MessageCodec

            return MessageCodec(self._given.message).encode
        if self._kind == "PROTOBUF":
            return codec_of_id(registry, schema_id).encode
        return codec(self._schema, resolver(registry)).encode

    @cached_property
    def _schema(self) -> Schema:
        model = self._given.model
        if model is None:
            assert self._given.schema is not None
            return self._given.schema
        from kafkaesque.client.schemas.models import json_schema

        derived = json_schema(model) if self._kind == "JSON" else self._avro.schema
        return Schema(json.dumps(derived), self._kind)

    @cached_property
    def _avro(self) -> Any:
        from kafkaesque.client.schemas.models import avro_model

        return avro_model(self._given.model)

    @cached_property
    def _prepare(self) -> Callable[[Any], Any] | None:
        """What makes an instance of a model a value for the codec."""
        model = self._given.model
        if model is None:
            return None
        dump = _json_dump if self._kind == "JSON" else self._avro.dump

        def prepare(value: Any) -> Any:
            return dump(value if isinstance(value, model) else model.model_validate(value))

        return prepare

    @cached_property
    def _record(self) -> str:
        """The name of what is written, where the schema has one."""
        if self._given.message is not None:
            return str(self._given.message.DESCRIPTOR.full_name)
        if self._kind == "PROTOBUF" or self._given.id is not None or self._given.is_nothing:
            return ""
        told = json.loads(self._schema.text)
        if not isinstance(told, dict):
            return ""
        if self._kind == "JSON":
            return str(told.get("title", ""))
        name, namespace = str(told.get("name", "")), told.get("namespace")
        return f"{namespace}.{name}" if namespace and "." not in name else name

    def _require_kind(self, schema: Schema, what: str) -> None:
        if schema.type != self._kind:
            raise TypeError(f"{what} is of type {schema.type}, and {self._part}= is {self._name!r}")


def _json_dump(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True)


def _no_decode(data: bytes) -> Any:
    raise TypeError("what is for writing does not read")
