"""Short names for the schemas that the written cases are made of."""

from typing import Any

D2020 = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
D4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
STRING, NUMBER, INTEGER = {"type": "string"}, {"type": "number"}, {"type": "integer"}
NULL, BOOLEAN = {"type": "null"}, {"type": "boolean"}


def obj(properties: Any = None, **words: Any) -> dict[str, Any]:
    return {
        "type": "object",
        **({"properties": properties} if properties is not None else {}),
        **words,
    }


def shut(properties: Any = None, **words: Any) -> dict[str, Any]:
    return obj(properties or {}, additionalProperties=False, **words)


def arr(items: Any = None, **words: Any) -> dict[str, Any]:
    return {"type": "array", **({"items": items} if items is not None else {}), **words}


def kind(name: str, **properties: Any) -> dict[str, Any]:
    return obj({"kind": {"const": name}, **properties}, required=["kind"])


def chain(value: Any) -> dict[str, Any]:
    """A list by recursion."""
    node = shut({"value": value, "next": {"$ref": "#/definitions/node"}})
    return {"$ref": "#/definitions/node", "definitions": {"node": node}}


Case = tuple[str, Any, Any, str | None, str, str]
