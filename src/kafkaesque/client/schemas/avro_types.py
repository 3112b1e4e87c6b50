"""Avro types for Python's annotations: models.py has the table.

A `Derivation` is of one schema: it knows which named types have been described in it. Each type is
found with a function that makes a Python value what fastavro writes, where the two differ.
Above: models.py. Below: avro_defaults.py.
"""

import re
import types
import typing
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from kafkaesque.client.schemas.avro_defaults import NONE, avro_default

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE: dict[type, Any] = {
    bool: "boolean",
    int: "long",
    float: "double",
    str: "string",
    bytes: "bytes",
    datetime: {"type": "long", "logicalType": "timestamp-micros"},
    date: {"type": "int", "logicalType": "date"},
    time: {"type": "long", "logicalType": "time-micros"},
    UUID: {"type": "string", "logicalType": "uuid"},
    type(None): "null",
}
_ARRAYS = (list, set, frozenset, tuple)


class Kind(NamedTuple):
    """`is_one` says whether a value is of this branch of a union."""

    schema: Any
    dump: Callable[[Any], Any] | None
    is_one: Callable[[Any], bool]
    record: str | None = None
    branches: "tuple[Kind, ...]" = ()


class Derivation:
    def __init__(self) -> None:
        # What is called so, to find two of one name.
        self._names: dict[str, Any] = {}
        self._described: dict[Any, _Dump] = {}
        self._enums: set[str] = set()

    def model(self, model: Any) -> Kind:
        if getattr(model, "__pydantic_root_model__", False):
            return self._root(model)
        name = avro_name(model.__name__)
        dump = _Dump()
        is_one = _instance_of(model)
        if self._names.setdefault(name, model) is not model:
            other = self._names[name]
            raise TypeError(
                f"two types are called {name}: {_where(other)} and {_where(model)}; "
                "give one of them another name"
            )
        if model in self._described:
            return Kind(name, self._described[model], is_one, name)
        self._described[model] = dump
        record: dict[str, Any] = {"type": "record", "name": name}
        if doc := model.__dict__.get("__doc__"):
            record["doc"] = " ".join(doc.split())
        found = [self._field(model, name, field) for name, field in model.model_fields.items()]
        record["fields"] = [described for described, _, _ in found]
        dump.fields = [(each["name"], name, convert) for each, name, convert in found]
        return Kind(record, dump, is_one, name)

    def _root(self, model: Any) -> Kind:
        inner = self._kind(
            model.model_fields["root"].annotation, (), f"{model.__name__}.root", model.__name__
        )
        convert = inner.dump

        def dump(value: Any) -> Any:
            return value.root if convert is None else convert(value.root)

        return Kind(inner.schema, dump, _instance_of(model))

    def _field(
        self, model: Any, name: str, field: Any
    ) -> tuple[dict[str, Any], str, Callable[[Any], Any] | None]:
        where = f"{model.__name__}.{name}"
        wire_name = _wire_name(name, field)
        if not _NAME.fullmatch(wire_name):
            raise TypeError(
                f"no Avro schema can be derived of {where}: Avro has no names like {wire_name!r}; "
                "give the field an alias of letters, digits and _"
            )
        literal = f"{avro_name(model.__name__)}_{name}"
        kind = self._kind(field.annotation, field.metadata, where, literal)
        described: dict[str, Any] = {"name": wire_name, "type": kind.schema}
        if field.description:
            described["doc"] = field.description
        default = avro_default(field, kind)
        if default is not NONE:
            described["type"] = _default_first(kind, None if default is None else field.default)
            described["default"] = default
        return described, name, kind.dump

    def _kind(self, annotation: Any, metadata: Any, where: str, literal: str) -> Kind:
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self._kind(arguments[0], arguments[1:], where, literal)
        if hasattr(annotation, "__value__"):  # A `type` statement.
            return self._kind(annotation.__value__, metadata, where, literal)
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments, metadata, where, literal)
        if origin is typing.Literal:
            return self._choice(list(arguments), literal, None, where)
        if origin is dict or annotation is dict:
            return self._map(arguments, where, literal)
        if origin in _ARRAYS or annotation in _ARRAYS:
            return self._array(arguments, where, literal)
        if annotation is Decimal:
            return _decimal(metadata)
        if annotation in _SIMPLE:
            return Kind(_SIMPLE[annotation], None, _exactly(annotation))
        if isinstance(annotation, type):
            return self._class(annotation, where)
        raise _underivable(where, annotation)

    def _class(self, annotation: Any, where: str) -> Kind:
        if issubclass(annotation, Enum):
            values = [member.value for member in annotation]
            return self._choice(values, avro_name(annotation.__name__), annotation, where)
        if hasattr(annotation, "model_fields") and hasattr(annotation, "model_validate"):
            return self.model(annotation)
        if issubclass(annotation, str):
            return Kind("string", str, _instance_of(annotation))
        raise _underivable(where, annotation)

    def _choice(self, values: list[Any], name: str, kind: Any, where: str) -> Kind:
        dump = None if kind is None else _value_of
        is_one = values.__contains__ if kind is None else _instance_of(kind)
        if values and all(isinstance(value, int) for value in values):
            is_bool = all(isinstance(value, bool) for value in values)
            return Kind("boolean" if is_bool else "long", dump, is_one)
        if not all(isinstance(value, str) for value in values):
            raise TypeError(
                f"no Avro schema can be derived of {where}: its values are neither all text nor "
                "all int"
            )
        if not all(_NAME.fullmatch(value) for value in values) or len(set(values)) < len(values):
            return Kind("string", dump, is_one)
        known = self._names.setdefault(name, kind or values)
        if known is not kind and known != values:
            raise TypeError(f"two types are called {name}: one of them is at {where}; rename it")
        if name in self._enums:
            return Kind(name, dump, is_one)
        self._enums.add(name)
        return Kind({"type": "enum", "name": name, "symbols": values}, dump, is_one)

    def _map(self, arguments: Any, where: str, literal: str) -> Kind:
        if not arguments or arguments[0] is not str:
            raise _underivable(where, "a dict whose keys are not str")
        item = self._kind(arguments[1], (), where, literal)
        convert = item.dump
        dump = None
        if convert is not None:
            dump = lambda value: {key: convert(each) for key, each in value.items()}  # noqa: E731
        return Kind({"type": "map", "values": item.schema}, dump, _instance_of(dict))

    def _array(self, arguments: Any, where: str, literal: str) -> Kind:
        items = [each for each in arguments if each is not Ellipsis]
        if len(items) != 1:
            raise _underivable(where, "a list or tuple that does not say what is in it")
        item = self._kind(items[0], (), where, literal)
        convert = item.dump
        dump = list if convert is None else lambda value: [convert(each) for each in value]
        return Kind({"type": "array", "items": item.schema}, dump, _instance_of(*_ARRAYS))

    def _union(self, arguments: Any, metadata: Any, where: str, literal: str) -> Kind:
        # Null first, because that is the default of most that have one.
        ordered = sorted(arguments, key=lambda each: each is not type(None))
        kinds = [self._kind(each, metadata, where, literal) for each in ordered]
        flat: list[Any] = []
        for kind in kinds:
            flat.extend(kind.schema if isinstance(kind.schema, list) else [kind.schema])
        bases = [_base(schema) for schema in flat]
        if len(set(bases)) < len(bases):
            twice = next(base for base in bases if bases.count(base) > 1)
            raise TypeError(
                f"no Avro schema can be derived of {where}: a union has each kind once, and this "
                f"one has {twice} twice"
            )
        some = [kind for kind in kinds if kind.schema != "null"]
        if len(some) == 1:
            convert = some[0].dump
            dump = None if convert is None else _unless_none(convert)
        else:
            dump = _by_branch(kinds) if any(kind.dump for kind in kinds) else None
        is_one = lambda value: any(kind.is_one(value) for kind in kinds)  # noqa: E731
        return Kind(flat, dump, is_one, None, tuple(kinds) if len(flat) == len(kinds) else ())


class _Dump:
    """A model's instance as a dict. A model may contain itself: its fields are known last."""

    def __init__(self) -> None:
        self.fields: list[tuple[str, str, Callable[[Any], Any] | None]] = []

    def __call__(self, value: Any) -> dict[str, Any]:
        parts = value.__dict__
        return {
            wire_name: parts[name] if convert is None else convert(parts[name])
            for wire_name, name, convert in self.fields
        }


def avro_name(text: str) -> str:
    """`Box[int]` is Box_int_."""
    return re.sub(r"[^A-Za-z0-9_]", "_", text)


def _wire_name(name: str, field: Any) -> str:
    alias = field.validation_alias
    if alias is not None and hasattr(alias, "choices"):
        alias = next((each for each in alias.choices if isinstance(each, str)), None)
    return alias if isinstance(alias, str) else name


def _decimal(metadata: Any) -> Kind:
    digits = _constraint(metadata, "max_digits")
    places = _constraint(metadata, "decimal_places")
    if digits is None or places is None:
        return Kind("string", str, _exactly(Decimal))
    schema = {"type": "bytes", "logicalType": "decimal", "precision": digits, "scale": places}
    return Kind(schema, None, _exactly(Decimal))


def _constraint(metadata: Any, name: str) -> int | None:
    for each in metadata:
        found = getattr(each, name, None)
        if found is None and hasattr(each, "metadata"):
            found = _constraint(each.metadata, name)
        if found is not None:
            return int(found)
    return None


def _default_first(kind: Kind, default: Any) -> Any:
    """The default of a union is one of its first branch."""
    if default is None or not kind.branches:
        return kind.schema
    return [
        each.schema for each in sorted(kind.branches, key=lambda each: not each.is_one(default))
    ]


def _base(schema: Any) -> str:
    if isinstance(schema, str):
        return schema
    return str(schema["name"] if "name" in schema else schema["type"])


def _value_of(member: Any) -> Any:
    return getattr(member, "value", member)


def _unless_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _by_branch(kinds: list[Kind]) -> Callable[[Any], Any]:
    def dump(value: Any) -> Any:
        for kind in kinds:
            if kind.is_one(value):
                found = value if kind.dump is None else kind.dump(value)
                # fastavro would take the first record that has the same fields.
                return found if kind.record is None else (kind.record, found)
        return value

    return dump


def _exactly(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind


def _instance_of(*kinds: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _where(known: Any) -> str:
    return f"{known.__module__}.{known.__qualname__}" if isinstance(known, type) else str(known)


def _underivable(where: str, annotation: Any) -> TypeError:
    what = getattr(annotation, "__name__", None) or str(annotation)
    return TypeError(f"no Avro schema can be derived of {where}: there is no type for {what}")
