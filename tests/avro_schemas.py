"""Generated Avro schemas, and data of them as fastavro takes it.

`schemas()` draws any schema as JSON-able data, `records()` a record, `data_of(schema)` a datum of a
schema. Names are unique within a schema, and always full; a field may name a type that was defined
before. Only `recursive=True` lets a record name itself, and then always beside a null, in an array
or in a map, so that data can end. Data in unions name their branch, as fastavro's tuples do.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
LOGICAL = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "uuid": "string",
}
NAMED = ("record", "error", "enum", "fixed")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SYMBOLS = ("A", "B", "C", "D", "E")
FIRST, LAST = dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)
DAY_US = 86_400_000_000


@dataclass(slots=True)
class _Names:
    """The named types of one schema: those defined so far, and the records being defined."""

    namespace: str
    recursive: bool
    count: int = 0
    done: list[str] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)

    def new(self, letter: str) -> str:
        self.count += 1
        name = f"{letter}{self.count}"
        return f"{self.namespace}.{name}" if self.namespace else name


@st.composite
def schemas(draw: st.DrawFn, *, depth: int = 3, recursive: bool = False) -> Any:
    return _schema(draw, _names(draw, recursive), depth)


@st.composite
def records(draw: st.DrawFn, *, depth: int = 3, recursive: bool = False) -> dict[str, Any]:
    return _record(draw, _names(draw, recursive), depth)


def _names(draw: st.DrawFn, recursive: bool) -> _Names:
    return _Names(draw(st.sampled_from(("", "org.example"))), recursive)


def _schema(draw: st.DrawFn, names: _Names, depth: int, *, union: bool = True) -> Any:
    kinds = ["primitive", "primitive", "logical", "decimal", "enum", "fixed"]
    if names.done:
        kinds.append("name")
    if depth > 0:
        kinds += ["record", "array", "map"] + ["union", "optional"] * union
        if names.recursive and names.under_way and union:
            kinds.append("recursion")
    return _KINDS[draw(st.sampled_from(kinds))](draw, names, depth - 1)


def _primitive(draw: st.DrawFn, _names: _Names, _depth: int) -> Any:
    return draw(st.sampled_from(PRIMITIVES))


def _logical(draw: st.DrawFn, _names: _Names, _depth: int) -> Any:
    name = draw(st.sampled_from(tuple(LOGICAL)))
    return {"type": LOGICAL[name], "logicalType": name}


def _decimal(draw: st.DrawFn, names: _Names, _depth: int) -> Any:
    precision = draw(st.integers(1, 18))
    decimal = {
        "logicalType": "decimal",
        "precision": precision,
        "scale": draw(st.integers(0, precision)),
    }
    if draw(st.booleans()):
        return {"type": "bytes", **decimal}
    return {**_fixed(draw, names, 0), "size": 8, **decimal}


def _enum(draw: st.DrawFn, names: _Names, _depth: int) -> Any:
    symbols = draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, unique=True))
    name = names.new("E")
    names.done.append(name)
    default = {"default": draw(st.sampled_from(symbols))} if draw(st.booleans()) else {}
    return {"type": "enum", "name": name, "symbols": symbols, **default}


def _fixed(draw: st.DrawFn, names: _Names, _depth: int) -> Any:
    name = names.new("X")
    names.done.append(name)
    return {"type": "fixed", "name": name, "size": draw(st.integers(1, 9))}


def _array(draw: st.DrawFn, names: _Names, depth: int) -> Any:
    return {"type": "array", "items": _schema(draw, names, depth)}


def _map(draw: st.DrawFn, names: _Names, depth: int) -> Any:
    return {"type": "map", "values": _schema(draw, names, depth)}


def _record(draw: st.DrawFn, names: _Names, depth: int) -> dict[str, Any]:
    name = names.new("R")
    names.under_way.append(name)
    fields = [
        {"name": f"f{index}", "type": _schema(draw, names, depth)}
        for index in range(draw(st.integers(0, 4)))
    ]
    names.under_way.pop()
    names.done.append(name)
    return {"type": "record", "name": name, "fields": fields}


def _union(draw: st.DrawFn, names: _Names, depth: int) -> Any:
    branches: dict[str, Any] = {}
    for _ in range(draw(st.integers(1, 4))):
        before = len(names.done)
        branch = _schema(draw, names, depth, union=False)
        if branch_name(branch) in branches:
            # It is left out, and nobody can name what it has defined.
            del names.done[before:]
        else:
            branches[branch_name(branch)] = branch
    return list(branches.values())


def _optional(draw: st.DrawFn, names: _Names, depth: int) -> Any:
    inner = _schema(draw, names, depth, union=False)
    return ["null", inner] if branch_name(inner) != "null" else ["null"]


def _recursion(draw: st.DrawFn, names: _Names, _depth: int) -> Any:
    name = draw(st.sampled_from(names.under_way))
    return draw(
        st.sampled_from(
            (["null", name], {"type": "array", "items": name}, {"type": "map", "values": name})
        )
    )


_KINDS: dict[str, Callable[[st.DrawFn, _Names, int], Any]] = {
    "primitive": _primitive,
    "logical": _logical,
    "decimal": _decimal,
    "enum": _enum,
    "fixed": _fixed,
    "array": _array,
    "map": _map,
    "record": _record,
    "union": _union,
    "optional": _optional,
    "recursion": _recursion,
    "name": lambda draw, names, _depth: draw(st.sampled_from(names.done)),
}


def branch_name(schema: Any) -> str:
    """What a union knows the branch by: the full name of a named type, else the type."""
    if isinstance(schema, str):
        return schema
    return str(schema["name"] if schema["type"] in NAMED else schema["type"])


def named_types(schema: Any) -> dict[str, Any]:
    """Every named type that is defined anywhere in the schema."""
    found: dict[str, Any] = {}
    rest = [schema]
    while rest:
        node = rest.pop()
        if isinstance(node, list):
            rest += node
        elif isinstance(node, dict):
            if node["type"] in NAMED:
                found[node["name"]] = node
            rest += [part["type"] for part in node.get("fields", ())]
            rest += [node[key] for key in ("items", "values") if key in node]
    return found


def data_of(schema: Any) -> st.SearchStrategy[Any]:
    types = named_types(schema)
    strategies: dict[str, st.SearchStrategy[Any]] = {}
    for name, node in types.items():
        strategies[name] = st.deferred(
            lambda node=node: _data_of_definition(node, strategies)  # type: ignore[misc]
        )
    return _data(schema, strategies)


def _data(schema: Any, types: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    if isinstance(schema, list):
        return st.one_of(
            [st.tuples(st.just(branch_name(branch)), _data(branch, types)) for branch in schema]
        )
    name = branch_name(schema)
    if name in types:
        return types[name]
    if isinstance(schema, str):
        return _PRIMITIVE_DATA[schema]
    if schema["type"] == "array":
        return st.lists(_data(schema["items"], types), max_size=3)
    if schema["type"] == "map":
        return st.dictionaries(TEXT, _data(schema["values"], types), max_size=3)
    return _data_of_logical(schema) if "logicalType" in schema else _PRIMITIVE_DATA[schema["type"]]


def _data_of_definition(
    schema: Any, types: dict[str, st.SearchStrategy[Any]]
) -> st.SearchStrategy[Any]:
    if schema["type"] == "enum":
        return st.sampled_from(schema["symbols"])
    if schema["type"] == "fixed":
        if "logicalType" in schema:
            return _data_of_logical(schema)
        return st.binary(min_size=schema["size"], max_size=schema["size"])
    return st.fixed_dictionaries(
        {part["name"]: _data(part["type"], types) for part in schema["fields"]}
    )


_PRIMITIVE_DATA: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=12),
    "string": TEXT,
}


def _data_of_logical(schema: Any) -> st.SearchStrategy[Any]:
    name = schema["logicalType"]
    if name == "decimal":
        return _decimals(schema["precision"], schema["scale"])
    return _LOGICAL_DATA[name]


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    largest = 10**precision - 1
    return st.integers(-largest, largest).map(lambda units: Decimal(units).scaleb(-scale))


def _time(microseconds: int) -> dt.time:
    return (dt.datetime.min + dt.timedelta(microseconds=microseconds)).time()


def _to_millis(moment: dt.datetime) -> dt.datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


_MOMENTS = st.datetimes(FIRST, LAST)
_UTC_MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(dt.UTC))
_LOGICAL_DATA: dict[str, st.SearchStrategy[Any]] = {
    "date": st.dates(FIRST.date(), LAST.date()),
    "time-millis": st.integers(0, DAY_US // 1000 - 1).map(lambda ms: _time(ms * 1000)),
    "time-micros": st.integers(0, DAY_US - 1).map(_time),
    "timestamp-millis": _UTC_MOMENTS.map(_to_millis),
    "timestamp-micros": _UTC_MOMENTS,
    "local-timestamp-millis": _MOMENTS.map(_to_millis),
    "local-timestamp-micros": _MOMENTS,
    "uuid": st.uuids(),
}
