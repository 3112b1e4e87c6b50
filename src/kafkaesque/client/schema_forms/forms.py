"""The forms of key and value, as a program names them: plain ones, and those of a registry.

    "avro"  "json-schema"  "protobuf"     framed, described by a registry
    "json" with a schema                  the same as "json-schema"
    any other                             plain: client/serde.py

Nothing of client/schemas/ is loaded for a plain one.
Above: client/producer.py, client/consumer.py, client/app/. Below: writing.py, reading.py.
"""

import threading
from typing import TYPE_CHECKING, Any

from kafkaesque.client.schema_forms.options import SchemaOptions
from kafkaesque.client.serde import Form, Serde, serde

if TYPE_CHECKING:
    from kafkaesque.client.registry import RegistryClient, SchemaKind

_KINDS: "dict[Any, SchemaKind]" = {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}


def forms(key: Form, value: Form, options: SchemaOptions) -> tuple[Serde, Serde]:
    """Raises TypeError or ValueError if they make no sense; asks nobody yet."""
    kinds = _kind(key, options.key_schema), _kind(value, options.schema)
    options.check(with_key=kinds[0] is not None, with_value=kinds[1] is not None)
    registry = _Registry(options.registry)
    return (
        _form(key, kinds[0], "key", options.key_schema, options, registry),
        _form(value, kinds[1], "value", options.schema, options, registry),
    )


def _kind(form: Form, schema: Any) -> "SchemaKind | None":
    if form == "json" and schema is not None:
        return "JSON"
    return _KINDS.get(form) if isinstance(form, str) else None


def _form(
    form: Form,
    kind: "SchemaKind | None",
    part: str,
    schema: Any,
    options: SchemaOptions,
    registry: "_Registry",
) -> Serde:
    if kind is None:
        return serde(form)
    from kafkaesque.client.schema_forms.given import given
    from kafkaesque.client.schema_forms.reading import SchemaReader
    from kafkaesque.client.schema_forms.writing import SchemaWriter

    name, what = str(form), given(schema, kind, part)
    writer = SchemaWriter(name, kind, part, what, options, registry)
    reader = SchemaReader(name, kind, part, what, registry)
    return Serde(
        _needs_a_topic,
        reader.decode,
        name,
        for_topic=writer.for_topic,
        decode_event=reader.decode_event,
        prepare=reader.prepare,
        close=registry.close,
    )


class _Registry:
    """The client that was given, or one of our own, made when it is first needed."""

    def __init__(self, registry: "str | RegistryClient | None") -> None:
        self._given = registry
        self._own: RegistryClient | None = None
        self._lock = threading.Lock()

    def __call__(self) -> "RegistryClient":
        from kafkaesque.client.registry import RegistryClient

        if isinstance(self._given, RegistryClient):
            return self._given
        with self._lock:
            if self._own is None:
                self._own = RegistryClient(self._given)
            return self._own

    def close(self) -> None:
        """One that was given is its owner's."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.close()


def close(*forms: Serde) -> None:
    for form in forms:
        if form.close is not None:
            form.close()


def _needs_a_topic(value: Any) -> bytes:
    raise TypeError("a topic's subject has the schema: it is written for a topic")
