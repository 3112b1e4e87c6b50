"""A schema with everything that it refers to put inside: one text that needs no other.

Every reference becomes a JSON pointer from the top. Inner $id are left out, for they would turn
those pointers another way. A name that is taken already gets a number.
Above: parse.py. Below: references.py.
"""

from typing import Any

from kafkaesque.registry.jsonschema.drafts import REFERENCES, Draft
from kafkaesque.registry.jsonschema.loading import Schema, pointer
from kafkaesque.registry.jsonschema.references import Links

Place = tuple[str | int, ...]


def resolved(root: dict[str, Any], links: Links) -> dict[str, Any]:
    word = "$defs" if links.resources[0].document.draft >= Draft.D2019 else "definitions"
    taken = set(root.get(word, ()))
    places: dict[int, Place] = {}
    _place(root, (), places)
    added: dict[str, Schema] = {}
    for resource in links.resources[1:]:
        name = _free(resource.document.name, taken)
        taken.add(name)
        added[name] = resource.document.root
        _place(resource.document.root, (word, name), places)
    whole = {
        key: value if key in ("$id", "id") else _copy(value, links, places)
        for key, value in _turned(root, links, places).items()
    }
    inside = {name: _copy(document, links, places, top=True) for name, document in added.items()}
    return {**whole, word: {**whole.get(word, {}), **inside}}


def _free(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _place(value: Any, at: Place, places: dict[int, Place]) -> None:
    if isinstance(value, dict | list):
        places[id(value)] = at
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for step, each in inner:
            _place(each, (*at, step), places)


def _copy(value: Any, links: Links, places: dict[int, Place], *, top: bool = False) -> Any:
    if isinstance(value, list):
        return [_copy(each, links, places) for each in value]
    if not isinstance(value, dict):
        return value
    left_out = ("$id", "id", "$schema") if top or id(value) in links.nodes else ()
    return {
        key: _copy(each, links, places)
        for key, each in _turned(value, links, places).items()
        if key not in left_out or not isinstance(each, str)
    }


def _turned(value: dict[str, Any], links: Links, places: dict[int, Place]) -> dict[str, Any]:
    """With its references pointing into the whole."""
    led = links.led.get(id(value), {})
    if not led:
        return value
    kept = {key: each for key, each in value.items() if key not in REFERENCES}
    for target in led.values():
        if isinstance(target, bool) or "$ref" in kept:
            kept["allOf"] = [*kept.get("allOf", ()), _pointing(target, places)]
        else:
            kept.update(_pointing(target, places))
    return kept


def _pointing(target: Schema, places: dict[int, Place]) -> Any:
    return target if isinstance(target, bool) else {"$ref": pointer(places[id(target)])}
