"""Nodes back to text: what is stored, and what is compared when a client asks to normalize.

`canonical_text` is what Java's Schema.toString() prints, which is what Confluent's registry stores:
no white space, primitives without properties as bare names, names as short as the namespace around
them allows; every type is defined where it is first met. Orders of attributes:

    record, error   type name namespace doc fields props aliases
    enum            type name namespace doc symbols default props aliases
    fixed           type name namespace doc size props aliases
    field           name type doc default order aliases props

`normalized` makes one text of all that mean the same, as Confluent's normalize=true: properties,
aliases and the keys of defaults sorted (a logical type before the other properties), empty docs of
types left out, numbers of float and double fields written as such, errors as records.
Types named in `known` are defined elsewhere, by a reference: they are only named.
Above: schema.py. Below: nodes.py, names.py, json_text.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kafkaesque.registry.avro.json_text import dump
from kafkaesque.registry.avro.names import as_alias, relative, split
from kafkaesque.registry.avro.nodes import (
    NO_DEFAULT,
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
)

_LOGICAL_WORDS = ("logicalType", "precision", "scale")


def canonical_text(root: Node, known: Iterable[str] = (), *, normalized: bool = False) -> str:
    writer = _Normalizer(known) if normalized else _Writer(known)
    return dump(writer.json(root, ""))


class _Writer:
    """Nodes to JSON-able data."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)

    def json(self, node: Node, namespace: str) -> Any:
        match node:
            case Primitive():
                return {"type": node.type, **self._props(node)} if node.props else node.type
            case Union():
                return [self.json(branch, namespace) for branch in node.branches]
            case Array():
                items = self.json(node.items, namespace)
                return {"type": "array", "items": items, **self._props(node)}
            case Map():
                values = self.json(node.values, namespace)
                return {"type": "map", "values": values, **self._props(node)}
            case _:
                if node.name in self._known:
                    return self._reference(node.name, namespace)
                self._known.add(node.name)
                return self._definition(node, namespace)

    def _reference(self, name: str, namespace: str) -> str:
        if namespace and "." not in name and f"{namespace}.{name}" in self._known:
            return f".{name}"
        return relative(name, namespace)

    def _definition(self, node: Named, namespace: str) -> dict[str, Any]:
        space, simple = split(node.name)
        json: dict[str, Any] = {"type": self._type(node), "name": simple}
        if space != namespace:
            json["namespace"] = space
        if (doc := self._doc(node)) is not None:
            json["doc"] = doc
        match node:
            case Record():
                json["fields"] = [self._field(field, space) for field in node.fields.values()]
            case Enum():
                json["symbols"] = list(node.symbols)
                if node.default is not None:
                    json["default"] = node.default
            case Fixed():
                json["size"] = node.size
        json |= self._props(node)
        if node.aliases:
            json["aliases"] = [as_alias(name, space) for name in self._aliases(node)]
        return json

    def _field(self, field: Field, namespace: str) -> dict[str, Any]:
        json: dict[str, Any] = {"name": field.name, "type": self.json(field.node, namespace)}
        if field.doc is not None:
            json["doc"] = field.doc
        if field.default is not NO_DEFAULT:
            json["default"] = self._default(field)
        if field.order != "ascending":
            json["order"] = field.order
        if field.aliases:
            json["aliases"] = list(self._aliases(field))
        return {**json, **self._props(field)}

    def _type(self, node: Named) -> str:
        return "error" if isinstance(node, Record) and node.is_error else node.type

    def _doc(self, node: Named) -> str | None:
        return node.doc

    def _aliases(self, node: Named | Field) -> Iterable[str]:
        return node.aliases

    def _default(self, field: Field) -> Any:
        return field.default

    def _props(self, node: Primitive | Array | Map | Named | Field) -> Mapping[str, Any]:
        return node.props


class _Normalizer(_Writer):
    def _type(self, node: Named) -> str:
        return node.type

    def _doc(self, node: Named) -> str | None:
        return node.doc or None

    def _aliases(self, node: Named | Field) -> Iterable[str]:
        return sorted(node.aliases)

    def _default(self, field: Field) -> Any:
        return _sorted(_as_typed(field.node, field.default))

    def _props(self, node: Primitive | Array | Map | Named | Field) -> Mapping[str, Any]:
        first: tuple[str, ...] = ()
        if isinstance(node, Primitive | Fixed) and node.logical is not None:
            first = _LOGICAL_WORDS if node.logical == "decimal" else ("logicalType",)
        words = [word for word in first if node.props.get(word, 0) != 0]
        words += [word for word in sorted(node.props) if word not in words]
        return {word: _sorted(node.props[word]) for word in words}


def _as_typed(node: Node, value: Any) -> Any:
    """The default with whole numbers of float and double fields as 1.0, not 1."""
    match node:
        case Primitive(type="float" | "double") if isinstance(value, int):
            return float(value)
        case Array() if isinstance(value, list):
            return [_as_typed(node.items, item) for item in value]
        case Map() if isinstance(value, dict):
            return {key: _as_typed(node.values, item) for key, item in value.items()}
        case Record() if isinstance(value, dict):
            return {
                key: _as_typed(node.fields[key].node, item) if key in node.fields else item
                for key, item in value.items()
            }
        case Union() if node.branches:
            return _as_typed(node.branches[0], value)
        case _:
            return value


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
