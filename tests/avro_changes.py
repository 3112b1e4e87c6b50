"""Generated changes of Avro schemas: what people do to them between two versions.

`changed(schema)` draws the schema with one to three changes; now and then the outcome is no legal
schema any more (a type that was taken out is still named): the caller leaves those out. `pairs()`
draws readers and writers to compare.
Above: test_avro_*.py. Below: avro_schemas.py.
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from tests.avro_schemas import NAMED, PRIMITIVES, SYMBOLS, named_types, schemas

Place = tuple[Any, Any]
"""A container and the key under which it holds a schema: the schema can be replaced."""

NEW_FIELDS: tuple[dict[str, Any], ...] = (
    {"type": "int"},
    {"type": "int", "default": 0},
    {"type": ["null", "string"], "default": None},
    {"type": ["null", "string"]},
    {"type": {"type": "enum", "name": "NewEnum", "symbols": ["A"], "default": "A"}},
    {"type": {"type": "array", "items": "long"}, "default": []},
)
WIDER = {"int": "long", "long": "float", "float": "double", "string": "bytes", "bytes": "string"}


@st.composite
def changed(draw: st.DrawFn, schema: Any) -> Any:
    root = [copy.deepcopy(schema)]
    for _ in range(draw(st.integers(1, 3))):
        draw(st.sampled_from(_CHANGES))(draw, root)
    return root[0]


@st.composite
def pairs(draw: st.DrawFn, *, recursive: bool = False) -> tuple[str, str]:
    """Two schemas as texts: mostly one and its change, in either direction."""
    one = draw(schemas(recursive=recursive))
    other = draw(schemas() if draw(st.integers(0, 3)) == 0 else changed(one))
    texts = json.dumps(one), json.dumps(other)
    return texts if draw(st.booleans()) else texts[::-1]


def _places(root: list[Any]) -> Iterator[Place]:
    rest: list[Place] = [(root, 0)]
    while rest:
        holder, key = rest.pop()
        yield holder, key
        node = holder[key]
        if isinstance(node, list):
            rest += [(node, at) for at in range(len(node))]
        elif isinstance(node, dict):
            rest += [(field, "type") for field in node.get("fields", ())]
            rest += [(node, word) for word in ("items", "values") if word in node]


def _place(draw: st.DrawFn, root: list[Any], wanted: Callable[[Any], bool]) -> Place | None:
    places = [(holder, key) for holder, key in _places(root) if wanted(holder[key])]
    return draw(st.sampled_from(places)) if places else None


def _definition(draw: st.DrawFn, root: list[Any], *types: str) -> dict[str, Any] | None:
    found = [node for node in named_types(root[0]).values() if node["type"] in types]
    return draw(st.sampled_from(found)) if found else None


def _add_field(draw: st.DrawFn, root: list[Any]) -> None:
    if record := _definition(draw, root, "record"):
        field = copy.deepcopy(draw(st.sampled_from(NEW_FIELDS)))
        at = draw(st.integers(0, len(record["fields"])))
        record["fields"].insert(at, {"name": f"new{at}", **field})


def _drop_field(draw: st.DrawFn, root: list[Any]) -> None:
    record = _definition(draw, root, "record")
    if record and record["fields"]:
        del record["fields"][draw(st.integers(0, len(record["fields"]) - 1))]


def _rename_field(draw: st.DrawFn, root: list[Any]) -> None:
    record = _definition(draw, root, "record")
    if record and record["fields"]:
        field = draw(st.sampled_from(record["fields"]))
        aliases = draw(st.sampled_from(([], [field["name"]], [field["name"], "f0"])))
        field |= {"name": f"{field['name']}_", "aliases": aliases}


def _turn_fields_round(draw: st.DrawFn, root: list[Any]) -> None:
    if record := _definition(draw, root, "record"):
        record["fields"].reverse()


def _rename_type(draw: st.DrawFn, root: list[Any]) -> None:
    if node := _definition(draw, root, *NAMED):
        old, simple = node["name"], node["name"].rpartition(".")[2]
        new = draw(st.sampled_from((f"{old}_", f"elsewhere.{simple}", f"elsewhere.{simple}_")))
        node["name"] = new
        aliases: tuple[list[str], ...] = ([], [old], [f"elsewhere.{simple}"])
        node["aliases"] = draw(st.sampled_from(aliases))
        for holder, key in _places(root):
            if holder[key] == old:
                holder[key] = new


def _change_symbols(draw: st.DrawFn, root: list[Any]) -> None:
    if enum := _definition(draw, root, "enum"):
        enum["symbols"] = draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, unique=True))
        enum.pop("default", None)
        if draw(st.booleans()):
            enum["default"] = enum["symbols"][0]


def _change_size(draw: st.DrawFn, root: list[Any]) -> None:
    if fixed := _definition(draw, root, "fixed"):
        fixed["size"] = draw(st.integers(1, 9))


def _widen(draw: st.DrawFn, root: list[Any]) -> None:
    if place := _place(draw, root, lambda node: isinstance(node, str) and node in WIDER):
        place[0][place[1]] = WIDER[place[0][place[1]]]


def _other_primitive(draw: st.DrawFn, root: list[Any]) -> None:
    if place := _place(draw, root, lambda node: isinstance(node, str) and node in PRIMITIVES):
        place[0][place[1]] = draw(st.sampled_from(PRIMITIVES))


def _other_type(draw: st.DrawFn, root: list[Any]) -> None:
    if place := _place(draw, root, lambda _: True):
        place[0][place[1]] = draw(st.sampled_from(PRIMITIVES))


def _wrap(draw: st.DrawFn, root: list[Any]) -> None:
    if place := _place(draw, root, lambda node: not isinstance(node, list)):
        branches = ["null", place[0][place[1]]]
        place[0][place[1]] = branches if draw(st.booleans()) else branches[::-1]


def _unwrap(draw: st.DrawFn, root: list[Any]) -> None:
    if place := _place(draw, root, lambda node: isinstance(node, list) and len(node) > 0):
        place[0][place[1]] = draw(st.sampled_from(place[0][place[1]]))


def _drop_branch(draw: st.DrawFn, root: list[Any]) -> None:
    if place := _place(draw, root, lambda node: isinstance(node, list) and len(node) > 1):
        branches = place[0][place[1]]
        del branches[draw(st.integers(0, len(branches) - 1))]


def _add_branch(draw: st.DrawFn, root: list[Any]) -> None:
    if place := _place(draw, root, lambda node: isinstance(node, list)):
        place[0][place[1]].append(draw(st.sampled_from(PRIMITIVES)))


_CHANGES = (
    _add_field,
    _drop_field,
    _rename_field,
    _turn_fields_round,
    _rename_type,
    _change_symbols,
    _change_size,
    _widen,
    _other_primitive,
    _other_type,
    _wrap,
    _unwrap,
    _drop_branch,
    _add_branch,
)
