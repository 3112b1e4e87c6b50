"""The fields of a schema as a flat list, each with what there is to know of it: to compare two.

    Avro         price, address.street, lines[].sku, tags{}, owner<Person>.name (in a union)
    JSON Schema  price, address.street, lines[].sku, tags{}, anyOf(1).name, $defs.Line.sku

A field is a mapping from facts (`type`, `default`, `required` …) to texts. The schema itself has
the path "". A name that is used again is not walked again, and what another subject defines stays a
name, so that the list is as long as the text at most. Pure. Above: schema_diff.py.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Facts: TypeAlias = dict[str, str]
Fields: TypeAlias = dict[str, Facts]

_NAMED = ("record", "error", "enum", "fixed")
_AVRO_STRUCTURE = {
    *("type", "name", "namespace", "fields", "items", "values", "symbols", "size"),
    *("logicalType", "precision", "scale"),
}
_BY_NAME = {"properties": "{}", "$defs": "$defs.{}", "definitions": "definitions.{}"}
_BY_NAME |= {"patternProperties": "{{{}}}", "dependentSchemas": "dependentSchemas.{}"}
_BY_NUMBER = {"prefixItems": "[{}]", "items": "[{}]"}
_BY_NUMBER |= {kind: kind + "({})" for kind in ("anyOf", "oneOf", "allOf")}
_ONE = {"items": "[]", "additionalProperties": "{}"}
_ONE |= {name: name for name in ("not", "if", "then", "else", "contains", "propertyNames")}


def fields_of(schema_type: str, text: str) -> Fields | None:
    """None where nobody can tell: Protobuf, or a text that is not JSON."""
    walk = {"AVRO": _avro, "JSON": _json}.get(schema_type)
    if walk is None:
        return None
    try:
        return dict(walk(json.loads(text)))
    except (ValueError, RecursionError):
        return None


def _avro(schema: Any) -> Iterator[tuple[str, Facts]]:
    yield "", _avro_facts(schema)
    yield from _inside_avro("", schema)


def _inside_avro(path: str, schema: Any) -> Iterator[tuple[str, Facts]]:
    """The fields below a place that has this schema."""
    if isinstance(schema, list):
        yield from _inside_union(path, schema)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in ("record", "error"):
            for field in _field_list(schema):
                place = _below(path, str(field.get("name")))
                yield place, _avro_facts(field.get("type")) | _notes(field)
                yield from _inside_avro(place, field.get("type"))
        elif kind == "array":
            yield from _inside_avro(f"{path}[]", schema.get("items"))
        elif kind == "map":
            yield from _inside_avro(f"{path}{{}}", schema.get("values"))
        elif not isinstance(kind, str):
            yield from _inside_avro(path, kind)


def _field_list(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = schema.get("fields")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _inside_union(path: str, branches: list[Any]) -> Iterator[tuple[str, Facts]]:
    """With one branch beside null there is nothing to tell apart."""
    several = sum(branch != "null" for branch in branches) > 1
    for branch in branches:
        name = _short(branch) if several and isinstance(branch, dict) else ""
        yield from _inside_avro(f"{path}<{name}>" if name else path, branch)


def _avro_facts(schema: Any) -> Facts:
    """Facts of a type; a field adds its own."""
    facts = {"type": avro_type(schema)}
    for part in schema if isinstance(schema, list) else [schema]:
        if isinstance(part, dict):
            if isinstance(part.get("symbols"), list):
                facts["symbols"] = ", ".join(map(str, part["symbols"]))
            for name, value in part.items():
                if name not in _AVRO_STRUCTURE:
                    facts[f"{name} of {_short(part)}"] = _written(value)
    return facts


def _notes(field: Mapping[str, Any]) -> Facts:
    return {name: _written(field[name]) for name in field if name not in ("name", "type")}


def avro_type(schema: Any) -> str:
    """A type in a few words: `long (timestamp-millis)`, `null or array of record Line`."""
    if isinstance(schema, list):
        return " or ".join(map(avro_type, schema))
    if not isinstance(schema, dict):
        return str(schema)
    kind = schema.get("type")
    if kind in ("array", "map"):
        words = f"{kind} of {avro_type(schema.get('items' if kind == 'array' else 'values'))}"
    elif kind in _NAMED:
        size = f" of {schema.get('size')} bytes" if kind == "fixed" else ""
        words = f"{kind} {_full_name(schema)}{size}"
    else:
        words = avro_type(kind)
    logical = schema.get("logicalType")
    if logical == "decimal":
        return f"{words} (decimal {schema.get('precision')}, {schema.get('scale', 0)})"
    return f"{words} ({logical})" if logical else words


def _full_name(schema: Mapping[str, Any]) -> str:
    name, space = str(schema.get("name")), schema.get("namespace")
    return f"{space}.{name}" if space and "." not in name else name


def _short(schema: Mapping[str, Any]) -> str:
    return str(schema.get("name") or schema.get("type")).rpartition(".")[2]


def _json(schema: Any, path: str = "", **given: str) -> Iterator[tuple[str, Facts]]:
    """`given` is what the place around it says of it."""
    if not isinstance(schema, dict):
        yield path, {"type": "anything" if schema else "nothing"} | given
        return
    inner = dict(_subschemas(schema))
    known = schema.get("properties")
    required = _names(schema.get("required"))
    yield (
        path,
        _json_facts(schema, required - set(known if isinstance(known, dict) else ())) | given,
    )
    for (keyword, name), (place, part) in inner.items():
        is_required = keyword == "properties" and name in required
        yield from _json(part, _below(path, place), **({"required": "yes"} if is_required else {}))


def _subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], tuple[str, Any]]]:
    for keyword, value in schema.items():
        if keyword in _BY_NAME and isinstance(value, dict):
            for name, part in value.items():
                yield (keyword, name), (_BY_NAME[keyword].format(name), part)
        elif keyword in _BY_NUMBER and isinstance(value, list):
            for number, part in enumerate(value):
                yield (keyword, str(number)), (_BY_NUMBER[keyword].format(number), part)
        elif keyword in _ONE and isinstance(value, dict):
            yield (keyword, ""), (_ONE[keyword], value)


def _json_facts(schema: Mapping[str, Any], unknown_required: set[str]) -> Facts:
    walked = {keyword for keyword, _ in dict(_subschemas(schema))}
    walked |= {"type", "$ref", "required", *(set(_BY_NAME) & set(schema))}
    facts = {"type": json_type(schema)}
    if unknown_required:
        facts["required fields"] = ", ".join(sorted(unknown_required))
    return facts | {name: _written(schema[name]) for name in schema if name not in walked}


def json_type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"])
    kind = schema.get("type", "anything")
    return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _names(value: Any) -> set[str]:
    return {str(name) for name in value} if isinstance(value, list) else set()


def _below(path: str, place: str) -> str:
    return f"{path}{'.' if path and place[0:1] not in ('[', '{') else ''}{place}"


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
