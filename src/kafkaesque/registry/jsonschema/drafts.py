"""The five drafts of JSON Schema that we take, and which keywords each of them knows.

A keyword that a draft does not know constrains nothing: `const` in draft 4 is a note. `$ref` hides
its neighbours up to draft 7 and stands beside them from 2019-09 on.
Above: loading.py, references.py, nodes.py. Below: nothing.
"""

from enum import IntEnum


class Draft(IntEnum):
    """Comparable by age."""

    D4 = 4
    D6 = 6
    D7 = 7
    D2019 = 2019
    D2020 = 2020


DEFAULT_DRAFT = Draft.D7
"""For a text without `$schema`, as in Confluent's registry."""

METASCHEMAS = {
    Draft.D4: "http://json-schema.org/draft-04/schema#",
    Draft.D6: "http://json-schema.org/draft-06/schema#",
    Draft.D7: "http://json-schema.org/draft-07/schema#",
    Draft.D2019: "https://json-schema.org/draft/2019-09/schema",
    Draft.D2020: "https://json-schema.org/draft/2020-12/schema",
}

_SINCE = {
    **dict.fromkeys(("const", "contains", "propertyNames"), Draft.D6),
    **dict.fromkeys(("if", "then", "else"), Draft.D7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas"), Draft.D2019),
    **dict.fromkeys(("minContains", "maxContains"), Draft.D2019),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), Draft.D2019),
    "prefixItems": Draft.D2020,
    "$dynamicRef": Draft.D2020,
    "$recursiveRef": Draft.D2019,
}
_UNTIL = {"dependencies": Draft.D7, "additionalItems": Draft.D2019, "$recursiveRef": Draft.D2019}

IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
"""Keywords whose schemas see the same value as the schema around them, here in lists ..."""
IN_PLACE = ("not", "if", "then", "else")
"""... and here alone. A circle of these would never end."""
IN_PLACE_MAPS = ("dependentSchemas", "dependencies")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

SCHEMA_LISTS = (*IN_PLACE_LISTS, "prefixItems")
SCHEMA_MAPS = ("properties", "patternProperties", "definitions", "$defs", *IN_PLACE_MAPS)
SCHEMAS = (
    *IN_PLACE,
    "contains",
    "propertyNames",
    "additionalProperties",
    "additionalItems",
    "unevaluatedProperties",
    "unevaluatedItems",
)
"""`items` is not among them: it holds one schema or a list."""


def draft_of(document: object) -> Draft:
    """By `$schema`; one that we do not know is the default, as in Confluent's registry."""
    named = document.get("$schema") if isinstance(document, dict) else None
    for draft, uri in METASCHEMAS.items():
        if isinstance(named, str) and _bare(named) == _bare(uri):
            return draft
    return DEFAULT_DRAFT


def _bare(uri: str) -> str:
    return uri.removesuffix("#").removeprefix("https://").removeprefix("http://")


def id_keyword(draft: Draft) -> str:
    return "id" if draft is Draft.D4 else "$id"


def keywords(raw: dict[str, object], draft: Draft) -> dict[str, object]:
    """The part of `raw` that means something in `draft`."""
    if draft <= Draft.D7 and isinstance(raw.get("$ref"), str):
        return {"$ref": raw["$ref"]}
    return {
        word: value
        for word, value in raw.items()
        if _SINCE.get(word, Draft.D4) <= draft <= _UNTIL.get(word, Draft.D2020)
    }
