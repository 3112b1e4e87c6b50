"""What a request asks for: names out of its path, fields out of its query and body.

Names in a path may hold any letter, a slash too, percent-encoded: app.py leaves paths as they came.
Above: routes/. Below: names.py, entries.py.
"""

from typing import Any
from urllib.parse import unquote

import orjson
from starlette.requests import Request

from kafkaesque.registry.decisions.registering import Registration
from kafkaesque.registry.entries import Reference, Schema
from kafkaesque.registry.journal import Journal
from kafkaesque.registry.names import DEFAULT_CONTEXT, context_named, normal, qualified
from kafkaesque.registry.problems import (
    invalid_schema,
    invalid_version,
    schema_too_large,
    unreadable,
)
from kafkaesque.registry.schema_text import SchemaType

MAX_BODY_BYTES = 4 << 20
_LARGEST = 2**31 - 1


def journal_of(request: Request) -> Journal:
    journal: Journal = request.app.state.journal
    return journal


def context(request: Request) -> str:
    """The context that the whole path is in: `/contexts/.eu/subjects/…`."""
    found: str = request.scope.get("registry_context", DEFAULT_CONTEXT)
    return found


def subject(request: Request) -> str:
    """As it is written, in its context."""
    return qualified(context(request), unquote(request.path_params["subject"]))


def meant_subject(request: Request) -> str:
    """The one that is meant: a subject may be an alias."""
    return journal_of(request).catalog.alias_of(subject(request))


def version_number(request: Request) -> int | None:
    """None: the latest. Raises ProblemError."""
    text = request.path_params["version"]
    if text in ("latest", "-1"):
        return None
    if text.isascii() and text.isdigit() and 0 < int(text[:11]) <= _LARGEST:
        return int(text)
    raise invalid_version(unquote(text))


def whole_number(request: Request, name: str, text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 11:
        return int(text)
    raise unreadable(f"{name} must be a whole number, not {text!r}")


def flag(request: Request, *names: str) -> bool:
    """Python's clients write True, Java's true."""
    return any(request.query_params.get(name, "").lower() == "true" for name in names)


def page(request: Request, items: list[Any]) -> list[Any]:
    """The part of a list that `offset` and `limit` ask for; a limit below zero is none."""
    offset = _number(request, "offset", 0)
    limit = _number(request, "limit", -1)
    return items[max(0, offset) :][: limit if limit >= 0 else None]


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        return int(text[:20])
    except ValueError:
        raise unreadable(f"{name} must be a whole number, not {text!r}") from None


async def body(request: Request) -> dict[str, Any]:
    """An object. Raises ProblemError."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY_BYTES:
            raise schema_too_large(f"the request has more than {MAX_BODY_BYTES:,} bytes")
    try:
        found = orjson.loads(bytes(data))
    except orjson.JSONDecodeError as error:
        raise unreadable(f"its body is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise unreadable("its body must be a JSON object")
    return found


def schema_in(fields: dict[str, Any]) -> Schema:
    """Raises ProblemError."""
    text = fields.get("schema")
    if not isinstance(text, str) or not text.strip():
        raise invalid_schema("`schema` must be the text of one")
    kind = fields.get("schemaType") or "AVRO"
    try:
        schema_type = SchemaType(kind)
    except ValueError:
        known = ", ".join(SchemaType)
        raise invalid_schema(f"there is no schema type {kind!r}: use {known}") from None
    return Schema(
        schema_type,
        text,
        _references(fields.get("references")),
        _object(fields, "metadata"),
        _object(fields, "ruleSet"),
    )


def registration_in(fields: dict[str, Any], under: str, *, normalize: bool) -> Registration:
    return Registration(
        under,
        schema_in(fields),
        normalize,
        _given_number(fields, "id"),
        _given_number(fields, "version"),
    )


def text_in(fields: dict[str, Any], name: str) -> str | None:
    found = fields.get(name)
    if found is not None and not isinstance(found, str):
        raise unreadable(f"{name} must be a text")
    return found or None


def prefix_of(request: Request) -> str | None:
    """Of subjects, as `?subjectPrefix=` says; None: all of all contexts."""
    given = request.query_params.get("subjectPrefix")
    if given is None:
        return None if context(request) == DEFAULT_CONTEXT else qualified(context(request), "")
    if given.startswith(":*:"):
        return None
    return normal(given) if given.startswith(":") else qualified(context(request), given)


def context_in(name: str) -> str:
    return context_named(unquote(name))


def _references(given: Any) -> tuple[Reference, ...]:
    if given is None:
        return ()
    try:
        return tuple(
            Reference(str(it["name"]), str(it["subject"]), int(it["version"])) for it in given
        )
    except (KeyError, TypeError, ValueError):
        raise invalid_schema(
            "`references` must be a list of objects with name, subject and version"
        ) from None


def _object(fields: dict[str, Any], name: str) -> dict[str, Any] | None:
    found = fields.get(name)
    if found is not None and not isinstance(found, dict):
        raise unreadable(f"{name} must be an object")
    return found


def _given_number(fields: dict[str, Any], name: str) -> int | None:
    """Zero and less stand for none: that is what Java's clients send."""
    found = fields.get(name)
    if found is None:
        return None
    if not isinstance(found, int) or isinstance(found, bool):
        raise unreadable(f"{name} must be a whole number")
    return found if found > 0 else None
