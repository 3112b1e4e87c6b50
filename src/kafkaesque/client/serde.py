"""How keys and values become bytes, and back: a `Serde`, or the name of one.

    "json"     what JSON can write, dataclasses and datetimes too (they come back as dict and str)
    "str"      UTF-8
    "bytes"    as they are
    a class    a Pydantic model: told by its methods, so that Pydantic is loaded only by its users
    Serde      any pair of functions

Those that a schema registry describes ("avro", …) are made by schema_forms/. A null is None
in every form: no function here ever sees it.
Above: schema_forms/, event_reading.py, http/. Below: orjson.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from kafkaesque.event import Event, EventHeaders


@dataclass(frozen=True, slots=True)
class Serde:
    """`encode` makes bytes of a value, `decode` a value of bytes; either raises what it likes."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    name: str = "custom"
    for_topic: "Callable[[str], Serde] | None" = None
    """The form for one topic, where a topic has its own schema: this one then cannot encode."""
    decode_event: Callable[[bytes, EventHeaders], Any] | None = None
    """Decodes what headers describe: asked in place of `decode` for an event that has some."""
    prepare: Callable[[bytes, EventHeaders], None] | None = None
    """Asks for what decoding will need, so that `decode` then waits for nobody."""
    close: Callable[[], None] | None = None
    """Lets go of connections; used again, it makes new ones."""


Form: TypeAlias = str | type[Any] | Serde


class DecodeEventError(ValueError):
    """A key or a value is not what it was said to be. `event` has both as the bytes they are."""

    def __init__(self, event: Event, part: str, form: str, cause: Exception) -> None:
        super().__init__(
            f"the {part} of offset {event.offset} of {event.topic}-{event.partition} "
            f"is not {form} ({cause}): read it with {part}='bytes', or pass on_error="
        )
        self.event = event
        self.part = part
        self.form = form


def serde(form: Form) -> Serde:
    if isinstance(form, Serde):
        return form
    if isinstance(form, str):
        if form in _NAMED:
            return _NAMED[form]
        raise ValueError(f"there is no form {form!r}: use {', '.join(_NAMED)}, a model or a Serde")
    if hasattr(form, "model_validate_json") and hasattr(form, "model_dump_json"):
        return _model(form)
    raise TypeError(f"{form!r} is no form: use {', '.join(_NAMED)}, a Pydantic model or a Serde")


def encode(form: Serde, value: Any, part: str) -> bytes | None:
    """Raises TypeError if the value cannot be written in this form."""
    if value is None:
        return None
    try:
        return form.encode(value)
    except Exception as error:
        # The value is not shown: it may be large, or secret.
        kind = type(value).__name__
        raise TypeError(f"a {part} of type {kind} is not {form.name} ({error})") from error


def _model(model: Any) -> Serde:
    def dump(value: Any) -> bytes:
        if not isinstance(value, model):
            value = model.model_validate(value)
        return str(value.model_dump_json()).encode()

    return Serde(dump, model.model_validate_json, model.__name__)


def _utf_8(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError("give a str")
    return value.encode()


def _bytes(value: Any) -> bytes:
    if type(value) is bytes:
        return value
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("give bytes")
    return bytes(value)


_NAMED = {
    "json": Serde(orjson.dumps, orjson.loads, "json"),
    "str": Serde(_utf_8, bytes.decode, "str"),
    "bytes": Serde(_bytes, bytes, "bytes"),
}
