"""Text to JSON, and JSON to a checked document: within bounds, against its draft's metaschema.

Depth is looked at before anything recurses. Numbers that JSON cannot hold (NaN, 1e999) are refused,
because they could not be written back.
Above: references.py, parse.py. Below: drafts.py, jsonschema_rs.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs

from kafkaesque.registry.jsonschema.drafts import METASCHEMAS, Draft, draft_of
from kafkaesque.registry.schema_text import MAX_DEPTH, MAX_TEXT_BYTES, InvalidSchemaError

Json = Any
Schema = dict[str, Any] | bool


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One text, read. `name` is empty for the schema itself, else what refers to it calls it."""

    name: str
    root: Schema
    draft: Draft


def load(text: str, name: str = "") -> Document:
    try:
        root = _json(text)
        draft = draft_of(root)
        check(root, draft)
    except InvalidSchemaError as error:
        raise (InvalidSchemaError(f"reference {name!r}: {error}") if name else error) from None
    return Document(name, root, draft)


def compact(value: Json, *, sort: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort)


def pointer(path: Iterable[str | int]) -> str:
    return "#" + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _json(text: str) -> Json:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise InvalidSchemaError(f"a schema of {size} bytes: at most {MAX_TEXT_BYTES} are taken")
    try:
        value = json.loads(text, parse_constant=_refuse_number, parse_float=_finite)
    except InvalidSchemaError:
        raise
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise InvalidSchemaError(f"not JSON: {error}") from None
    _check_depth(value)
    try:
        compact(value).encode()
    except UnicodeEncodeError:
        raise InvalidSchemaError(
            "not Unicode: half of a surrogate pair stands alone in a string"
        ) from None
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        _refuse_number(digits)
    return value


def _refuse_number(digits: str) -> float:
    raise InvalidSchemaError(f"{digits[:40]} is a number that JSON cannot hold")


def _check_depth(value: Json) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [child for outer in level for child in children(outer)]
        if not level:
            return
    raise _too_deep()


def children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> InvalidSchemaError:
    return InvalidSchemaError(
        f"nested deeper than {MAX_DEPTH} levels: name inner schemas under $defs and refer to them"
    )


def check(root: Json, draft: Draft, at: Sequence[str | int] = ()) -> None:
    """Against the metaschema; `at` is where `root` stands in its document."""
    error = next(iter(_metaschema(draft).iter_errors(root)), None)
    if error is not None:
        error = _innermost(error)
        where = pointer([*at, *error.instance_path])
        what = error.message if len(error.message) <= 300 else f"{error.message[:297]}..."
        raise InvalidSchemaError(f"at {where}: {what} (by the metaschema of {METASCHEMAS[draft]})")


def _innermost(error: jsonschema_rs.ValidationError) -> jsonschema_rs.ValidationError:
    """What fits no branch is told by the branch that came furthest."""
    while isinstance(error.kind, jsonschema_rs.ValidationErrorKind.AnyOf):
        inner = [each for branch in error.kind.context for each in branch]
        furthest = max(inner, key=lambda each: len(each.instance_path), default=error)
        if len(furthest.instance_path) <= len(error.instance_path):
            break
        error = furthest
    return error


@cache
def _metaschema(draft: Draft) -> jsonschema_rs.Validator:
    uri = METASCHEMAS[draft]
    return jsonschema_rs.validator_for(
        {"$schema": uri, "$ref": uri}, offline=True, validate_formats=False
    )
