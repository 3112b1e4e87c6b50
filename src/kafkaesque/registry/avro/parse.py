"""Avro schemas (specification 1.12) from JSON to nodes, strictly.

Decided as Java's parser decides, and stricter where that one lets through what nobody can use:
a name is defined once and before it is named; defaults fit (defaults.py). Attributes without
meaning are kept, and those that mean something elsewhere (`size` on a record) are dropped, as Java
drops them. Doc comments that are no text are dropped too.
References are parsed first, each text once: the types that they define are known by full name.
Above: schema.py. Below: nodes.py, names.py, defaults.py, logical.py, json_text.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kafkaesque.registry.avro.defaults import DefaultCheck
from kafkaesque.registry.avro.json_text import TOO_DEEP, dump, load
from kafkaesque.registry.avro.logical import logical_type
from kafkaesque.registry.avro.names import checked, full_name, shortened, split
from kafkaesque.registry.avro.nodes import (
    NO_DEFAULT,
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Node,
    Primitive,
    Record,
    Union,
    branch_name,
)
from kafkaesque.registry.schema_text import MAX_DEPTH, InvalidSchemaError, Referenced

ORDERS = ("ascending", "descending", "ignore")
NAMED_TYPES = ("record", "error", "enum", "fixed")
MAX_SIZE = (1 << 31) - 1
_SCHEMA_WORDS = frozenset(
    ("type", "name", "namespace", "doc", "aliases", "fields", "symbols", "size", "items", "values")
)
_FIELD_WORDS = frozenset(("name", "type", "doc", "default", "order", "aliases"))


def nodes_of(text: str, references: Sequence[Referenced]) -> tuple[Node, frozenset[str]]:
    """The schema's root, and the full names of the types that its references define."""
    try:
        parser = _Parser()
        for reference in _innermost_first(references):
            try:
                parser.document(reference.text)
            except InvalidSchemaError as error:
                raise InvalidSchemaError(f'in the reference "{reference.name}": {error}') from None
        referenced = frozenset(parser.names)
        return parser.document(text), referenced
    except RecursionError:
        raise InvalidSchemaError(TOO_DEEP) from None


def _innermost_first(references: Sequence[Referenced]) -> list[Referenced]:
    """Each reference after those that it refers to itself; the same text only once."""
    ordered: dict[str, Referenced] = {}
    seen: set[int] = set()
    rest = [(reference, False) for reference in reversed(references)]
    while rest:
        reference, is_ready = rest.pop()
        if is_ready:
            ordered.setdefault(reference.text, reference)
        elif id(reference) not in seen:
            seen.add(id(reference))
            rest.append((reference, True))
            rest += [(inner, False) for inner in reversed(reference.references)]
    return list(ordered.values())


class _Parser:
    def __init__(self) -> None:
        self.names: dict[str, Named] = {}
        self._unchecked: list[tuple[Field, str, str]] = []

    def document(self, text: str) -> Node:
        node = self._node(load(text), "", "/", 0)
        check = DefaultCheck()
        for field, record, path in self._unchecked:
            if wrong := check.problem(field.node, field.default):
                raise InvalidSchemaError(
                    f'the default of field "{field.name}" of {record} does not fit: {wrong},'
                    f" at {path}"
                )
        self._unchecked.clear()
        return node

    def _node(self, json: Any, namespace: str, path: str, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise InvalidSchemaError(TOO_DEEP)
        if isinstance(json, str):
            return Primitive(json) if json in PRIMITIVES else self._known(json, namespace, path)
        if isinstance(json, list):
            return self._union(json, namespace, path, depth)
        if not isinstance(json, dict):
            raise InvalidSchemaError(
                f"a schema is a name, an object or a list, not {_shown(json)}, at {path}"
            )
        return self._object(json, namespace, path, depth)

    def _object(self, json: dict[str, Any], namespace: str, path: str, depth: int) -> Node:
        type_name = json.get("type")
        if not isinstance(type_name, str):
            raise InvalidSchemaError(
                f'"type" must be the name of a type, not {_shown(type_name)}, at {path}'
                if "type" in json
                else f'the schema has no "type", at {path}'
            )
        if type_name in NAMED_TYPES:
            return self._named(json, type_name, namespace, path, depth)
        props = _props(json, _SCHEMA_WORDS)
        if type_name in PRIMITIVES:
            return Primitive(type_name, logical_type(type_name, props), props)
        if type_name == "array":
            items = _wanted(json, "items", "an array", path)
            return Array(self._node(items, namespace, _below(path, "items"), depth + 1), props)
        if type_name == "map":
            values = _wanted(json, "values", "a map", path)
            return Map(self._node(values, namespace, _below(path, "values"), depth + 1), props)
        return self._known(type_name, namespace, path)

    def _known(self, name: str, namespace: str, path: str) -> Named:
        if "." not in name and namespace and f"{namespace}.{name}" in self.names:
            return self.names[f"{namespace}.{name}"]
        if name.removeprefix(".") in self.names:
            return self.names[name.removeprefix(".")]
        raise InvalidSchemaError(
            f'no type is named "{shortened(name)}", at {path}: define it before it is used,'
            " or refer to the schema that does"
        )

    def _union(self, json: list[Any], namespace: str, path: str, depth: int) -> Union:
        branches: dict[str, Node] = {}
        for index, inner in enumerate(json):
            here = _below(path, index)
            if isinstance(inner, list):
                raise InvalidSchemaError(f"a union may not hold a union, at {here}")
            branch = self._node(inner, namespace, here, depth + 1)
            if branch_name(branch) in branches:
                raise InvalidSchemaError(
                    f"the union has two branches of type {branch_name(branch)}, at {here}"
                )
            branches[branch_name(branch)] = branch
        return Union(tuple(branches.values()))

    def _named(
        self, json: dict[str, Any], type_name: str, namespace: str, path: str, depth: int
    ) -> Named:
        given = _wanted(json, "name", f"the {type_name}", path)
        space = json.get("namespace")
        if not isinstance(given, str):
            raise InvalidSchemaError(f"the name of the {type_name} must be text, at {path}")
        what = f"name of the {type_name}"
        name = full_name(given, space if isinstance(space, str) else namespace, what, path)
        if name in self.names:
            raise InvalidSchemaError(f"{name} is defined twice; the second time at {path}")
        about = _About(json, name, path)
        if type_name == "enum":
            self.names[name] = _enum(json, about)
        elif type_name == "fixed":
            self.names[name] = _fixed(json, about)
        else:
            self._record(json, type_name == "error", about, depth)
        return self.names[name]

    def _record(self, json: dict[str, Any], is_error: bool, about: "_About", depth: int) -> None:
        fields = json.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchemaError(f'{about.name} needs a list of "fields", at {about.path}')
        record = Record(about.name, is_error, about.doc, about.aliases, about.props)
        self.names[record.name] = record
        for index, inner in enumerate(fields):
            path = _below(_below(about.path, "fields"), index)
            field = self._field(inner, record, path, depth)
            if field.name in record.fields:
                raise InvalidSchemaError(
                    f'{record.name} has two fields named "{field.name}"; the second at {path}'
                )
            record.fields[field.name] = field

    def _field(self, json: Any, record: Record, path: str, depth: int) -> Field:
        what = f"a field of {record.name}"
        if not isinstance(json, dict):
            raise InvalidSchemaError(f"{what} is an object, not {_shown(json)}, at {path}")
        name = _wanted(json, "name", what, path)
        if not isinstance(name, str):
            raise InvalidSchemaError(f"the name of {what} must be text, at {path}")
        checked(name, f"name of {what}", path)
        json_type = _wanted(json, "type", f'field "{name}" of {record.name}', path)
        if isinstance(json_type, str) and json_type in ("array", "map", *NAMED_TYPES):
            raise InvalidSchemaError(
                f'field "{name}" of {record.name} says "type": "{json_type}": write the whole type'
                f' there, {{"type": {{"type": "{json_type}", …}}}}, at {path}'
            )
        node = self._node(json_type, split(record.name)[0], _below(path, "type"), depth + 1)
        field = Field(
            name,
            node,
            _doc(json),
            json.get("default", NO_DEFAULT),
            _order(json, path),
            tuple(_aliases(json, path)),
            _props(json, _FIELD_WORDS),
        )
        if field.default is not NO_DEFAULT:
            self._unchecked.append((field, record.name, path))
        return field


class _About:
    """What all named types have in common."""

    __slots__ = ("aliases", "doc", "name", "path", "props")

    def __init__(self, json: dict[str, Any], name: str, path: str) -> None:
        namespace = split(name)[0]
        self.name = name
        self.path = path
        self.doc = _doc(json)
        self.aliases = tuple(
            full_name(alias, namespace, f"alias of {name}", path) for alias in _aliases(json, path)
        )
        self.props = _props(json, _SCHEMA_WORDS)


def _enum(json: dict[str, Any], about: _About) -> Enum:
    symbols = json.get("symbols")
    if not isinstance(symbols, list):
        raise InvalidSchemaError(f'{about.name} needs a list of "symbols", at {about.path}')
    seen: dict[str, None] = {}
    for symbol in symbols:
        if not isinstance(symbol, str):
            raise InvalidSchemaError(
                f"the symbols of {about.name} must be text, not {_shown(symbol)}, at {about.path}"
            )
        checked(symbol, f"symbol of {about.name}", about.path)
        if symbol in seen:
            raise InvalidSchemaError(f'{about.name} has "{symbol}" twice, at {about.path}')
        seen[symbol] = None
    default = json.get("default")
    if default is not None and (not isinstance(default, str) or default not in seen):
        raise InvalidSchemaError(
            f"the default {_shown(default)} of {about.name} is not one of its symbols,"
            f" at {about.path}"
        )
    props = {key: value for key, value in about.props.items() if key != "default"}
    return Enum(about.name, seen, default, about.doc, about.aliases, props)


def _fixed(json: dict[str, Any], about: _About) -> Fixed:
    size = json.get("size")
    if type(size) is not int or not 0 <= size <= MAX_SIZE:
        raise InvalidSchemaError(
            f'{about.name} needs a "size" from 0 to {MAX_SIZE}, not {_shown(size)}, at {about.path}'
        )
    logical = logical_type("fixed", about.props, size)
    return Fixed(about.name, size, about.doc, about.aliases, logical, about.props)


def _wanted(json: dict[str, Any], key: str, what: str, path: str) -> Any:
    if json.get(key) is None:
        raise InvalidSchemaError(f'{what} needs "{key}", at {path}')
    return json[key]


def _doc(json: dict[str, Any]) -> str | None:
    doc = json.get("doc")
    return doc if isinstance(doc, str) else None


def _order(json: dict[str, Any], path: str) -> str:
    order = json.get("order", "ascending")
    if not isinstance(order, str) or order.lower() not in ORDERS:
        raise InvalidSchemaError(
            f"the order of a field is {', '.join(ORDERS)}, not {_shown(order)}, at {path}"
        )
    return order.lower()


def _aliases(json: dict[str, Any], path: str) -> list[str]:
    aliases = json.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InvalidSchemaError(f'"aliases" must be a list of names, at {path}')
    return list(dict.fromkeys(aliases))


def _props(json: dict[str, Any], words: frozenset[str]) -> Mapping[str, Any]:
    return {key: value for key, value in json.items() if key not in words}


def _below(path: str, step: str | int) -> str:
    return f"/{step}" if path == "/" else f"{path}/{step}"


def _shown(json: Any) -> str:
    if isinstance(json, dict | list):
        return "an object" if isinstance(json, dict) else "a list"
    return shortened(dump(json))
