"""JSON Schemas, small changes to them, and documents that fit: for tests of registry/jsonschema.

Few names and few numbers, so that schemas, changes and documents meet. `documents` is guided by a
schema and by every number, word and name in it and in a second one: there the two schemas differ.
What fits is judged by the package jsonschema, which nobody here wrote.
"""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import jsonschema  # type: ignore[import-untyped]
from hypothesis import strategies as st

Schema = Any
TYPES = ("null", "boolean", "integer", "number", "string", "object", "array")
NAMES = ("a", "b", "ab", "c")
PATTERNS = ("^a", "b$", "^[ab]*$")
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DEFINED = "node"

_numbers = st.sampled_from([-1, 0, 1, 2, 2.5, 3, 5])
_counts = st.integers(0, 3)
_words = st.sampled_from(["", "a", "b", "ab", "abc"])
_names = st.sampled_from(NAMES)
_values = st.one_of(_numbers, _words, st.none(), st.booleans(), st.just([]), st.just({"a": 1}))


_leaves = st.sampled_from(
    [True, {"type": "integer"}, {"type": "string"}, {"type": "number"}, {}, False]
)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2, modern: bool = False) -> Schema:
    """Without $schema; `modern` uses the words of 2020-12, else those of draft 7."""
    if depth < 2 and draw(st.integers(0, 11)) == 0:
        return draw(_leaves)
    if depth < 2 and draw(st.integers(0, 9)) == 0:
        return {"$ref": f"#/definitions/{DEFINED}"}
    made: dict[str, Any] = {}
    kind = draw(st.sampled_from((*TYPES, "object", "object", "array", "string", "none", "list")))
    if kind == "list":
        made["type"] = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True))
    elif kind != "none":
        made["type"] = kind
    for word in draw(st.lists(st.sampled_from(_words_for(kind, modern)), max_size=3, unique=True)):
        made[word] = draw(_keyword(word, depth, modern))
    if depth and draw(st.integers(0, 3)) == 0:
        word = draw(st.sampled_from(("anyOf", "oneOf", "allOf", "not", "if", "enum", "const")))
        made[word] = draw(_keyword(word, depth, modern))
        if word == "if":
            made["then"] = draw(schemas(depth - 1, modern))
    return made


def _words_for(kind: str, modern: bool) -> tuple[str, ...]:
    numbers = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    objects = (
        *("properties", "properties", "required", "additionalProperties", "patternProperties"),
        *("minProperties", "maxProperties", "propertyNames"),
        *(("dependentRequired", "unevaluatedProperties") if modern else ("dependencies",)),
    )
    arrays: tuple[str, ...] = ("minItems", "maxItems", "uniqueItems", "contains", "items")
    arrays += ("prefixItems", "unevaluatedItems") if modern else ("tuple", "additionalItems")
    strings = ("minLength", "maxLength", "pattern")
    by_kind = {"integer": numbers, "number": numbers, "string": strings, "object": objects}
    by_kind |= {"array": arrays, "null": ("enum",), "boolean": ("const",)}
    return by_kind.get(kind, (*numbers, *objects, *arrays, *strings))


def _keyword(word: str, depth: int, modern: bool) -> st.SearchStrategy[Any]:
    inner = st.deferred(lambda: schemas(depth - 1, modern)) if depth else _leaves
    if word.endswith(("Length", "Items", "Properties")) and word[:3] in ("min", "max"):
        return _counts
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
        "pattern": st.sampled_from(PATTERNS),
        "required": st.lists(_names, max_size=2, unique=True),
        "properties": st.dictionaries(_names, inner, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
        "additionalProperties": st.one_of(st.just(False), inner),
        "propertyNames": st.sampled_from(
            [{"pattern": "^a"}, {"maxLength": 1}, {"enum": ["a", "b"]}]
        ),
        "dependentRequired": st.dictionaries(_names, st.lists(_names, max_size=2, unique=True)),
        "dependencies": st.dictionaries(
            _names, st.one_of(st.lists(_names, unique=True), inner), max_size=2
        ),
        "uniqueItems": st.booleans(),
        "enum": st.lists(_values, min_size=1, max_size=4),
        "const": _values,
        **dict.fromkeys(("anyOf", "oneOf", "allOf"), st.lists(inner, min_size=1, max_size=3)),
        **dict.fromkeys(("prefixItems", "tuple"), st.lists(inner, min_size=1, max_size=2)),
    }
    plain = inner if word in _INNER else _numbers
    return strategies.get(word, plain)


_INNER = (
    "items",
    "contains",
    "not",
    "if",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
)


def _tidy(schema: Schema) -> Schema:
    """`tuple` stands for items as a list, until here."""
    if isinstance(schema, list):
        return [_tidy(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {word: _tidy(value) for word, value in schema.items() if word != "tuple"}
    if "tuple" in schema:
        made["items"] = _tidy(schema["tuple"])
    if not isinstance(made.get("items"), list):
        # The judge stumbles over additionalItems beside `items: true`; they mean nothing there.
        made.pop("additionalItems", None)
    return made


def _whole(schema: Schema, node: Schema, modern: bool) -> Schema:
    made = _tidy(schema)
    made = made if isinstance(made, dict) else {"allOf": [made]}
    defined = _tidy(node)
    return {"$schema": DRAFT_2020 if modern else DRAFT_7, **made, "definitions": {DEFINED: defined}}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Schema, Schema]:
    """A schema, and the same after one to three small changes."""
    modern = draw(st.booleans())
    node = {"type": "object", "properties": {"c": draw(schemas(1, modern))}}
    writer = _whole(draw(schemas(2, modern)), node, modern)
    reader = writer
    for _ in range(draw(st.integers(1, 3))):
        reader = edited(reader, draw(schemas(1, modern)), Random(draw(st.integers(0, 10**6))))
    return (writer, reader) if draw(st.booleans()) else (reader, writer)


def edited(schema: Schema, fresh: Schema, rng: Random) -> Schema:
    made = copy.deepcopy(schema)
    places = list(_places(made))
    holder, key = rng.choice(places)
    target = holder[key] if holder is not None else made
    change = rng.randrange(7)
    fresh = _tidy(fresh)
    if not isinstance(target, dict):
        replaced: Any = fresh
    elif change == 0 and len(target) > 1:
        replaced = dict(target)
        del replaced[
            rng.choice(
                [word for word in target if word not in ("$schema", "definitions")] or ["$schema"]
            )
        ]
    elif change <= 2 and isinstance(fresh, dict) and "$ref" not in (fresh.keys() | target.keys()):
        replaced = {**target, **fresh} if change == 1 else {**fresh, **target}
    elif change == 3 and holder is not None:
        replaced = {rng.choice(("anyOf", "oneOf", "allOf")): [target, fresh]}
    elif change == 4:
        replaced = _nudged(target, rng)
    elif holder is not None:
        replaced = fresh
    else:
        replaced = {**target, "type": rng.choice(TYPES)}
    if holder is None:
        return _tidy(replaced)
    holder[key] = replaced
    return _tidy(made)


def _nudged(target: dict[str, Any], rng: Random) -> dict[str, Any]:
    made = dict(target)
    for word, value in target.items():
        if isinstance(value, int) and not isinstance(value, bool) and word != "const":
            made[word] = max(value + rng.choice((-1, 1)), 1 if word == "multipleOf" else -1)
            if word.startswith(("min", "max")) and word not in ("minimum", "maximum"):
                made[word] = max(made[word], 0)
        elif word in ("enum", "required", "anyOf", "oneOf") and len(value) > 1:
            made[word] = value[:-1]
    return made


_BY_NAME = ("properties", "patternProperties", "definitions")
_IN_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ALONE = (*_INNER, "then", "additionalProperties")


def _places(schema: Schema) -> Iterator[tuple[Any, Any]]:
    """Every schema in a schema, as what holds it and under which key."""
    waiting: list[tuple[Any, Any, Any]] = [(None, None, schema)]
    while waiting:
        holder, key, each = waiting.pop()
        yield holder, key
        if isinstance(each, dict):
            for word, value in each.items():
                if word in _BY_NAME:
                    waiting.extend((value, name, inner) for name, inner in value.items())
                elif word in _IN_LISTS or (word == "items" and isinstance(value, list)):
                    waiting.extend((value, index, inner) for index, inner in enumerate(value))
                elif word in _ALONE:
                    waiting.append((each, word, value))


def judge(schema: Schema) -> Any:
    """The foreign validator of a schema that says its draft; draft 7 if it does not."""
    chosen = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)
    return chosen(schema)


class Documents:
    """Random documents along a schema, with what stands in `others` mixed in."""

    def __init__(self, schema: Schema, others: Schema, rng: Random) -> None:
        self._schema = schema
        self._rng = rng
        self._values: list[Any] = [None, True, False, 0, 1.5, "", "x", [], {}]
        self._names = ["a", "zz"]
        self._counts = [0, 1, 2, 3]
        for each in (schema, others):
            self._gather(each)

    def _gather(self, value: Any) -> None:
        if isinstance(value, dict):
            self._names.extend(name for name in value if isinstance(name, str) and len(name) < 20)
            for name in ("enum",):
                self._values.extend(
                    value.get(name, ()) if isinstance(value.get(name), list) else ()
                )
            if "const" in value:
                self._values.append(value["const"])
            for inner in value.values():
                self._gather(inner)
        elif isinstance(value, list):
            self._names.extend(each for each in value if isinstance(each, str) and len(each) < 20)
            for inner in value:
                self._gather(inner)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._values.extend((value, value + 1, value - 1, value + 0.5))
            if 0 <= value < 20:
                self._counts.extend((int(value), int(value) + 1))
                self._values.extend(("a" * int(value), "ab" * int(value), "b" * (int(value) + 1)))
        elif isinstance(value, str) and len(value) < 20:
            self._values.extend((value, value.strip("^$")))

    def draw(self) -> Any:
        return self._along(self._schema, 0)

    def _any(self, depth: int) -> Any:
        choice = self._rng.random()
        if depth > 3 or choice < 0.7:
            return self._rng.choice(self._values)
        count = self._rng.randrange(4)
        if choice < 0.85:
            return [self._any(depth + 1) for _ in range(count)]
        return {self._rng.choice(self._names): self._any(depth + 1) for _ in range(count)}

    def _along(self, schema: Schema, depth: int) -> Any:
        if not isinstance(schema, dict) or depth > 5 or self._rng.random() < 0.08:
            return self._any(depth)
        if "$ref" in schema:
            return self._along(self._defined(schema["$ref"]), depth + 1)
        schema = self._flat(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._rng.choice(schema["enum"])
        named = schema.get("type", self._guess(schema))
        kind = self._rng.choice(named) if isinstance(named, list) else named
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        kinds: dict[str, Any] = {
            "string": str,
            "boolean": bool,
            "integer": int,
            "number": (int, float),
        }
        wanted = kinds.get(kind, type(None))
        fitting = [each for each in self._values if isinstance(each, wanted)]
        if kind in ("integer", "number"):
            fitting = [each for each in fitting if not isinstance(each, bool)] or [0]
        return self._rng.choice(fitting) if fitting else None

    def _guess(self, schema: dict[str, Any]) -> Any:
        if schema.keys() & {"properties", "required", "additionalProperties", "patternProperties"}:
            return ["object", "object", "string"]
        if schema.keys() & {"items", "prefixItems", "contains", "minItems", "maxItems"}:
            return ["array", "array", "null"]
        return list(TYPES)

    def _flat(self, schema: dict[str, Any]) -> dict[str, Any]:
        """One branch of each choice, laid over the schema."""
        made = dict(schema)
        branches = [
            self._rng.choice(schema[word]) for word in ("anyOf", "oneOf") if schema.get(word)
        ]
        branches += schema.get("allOf", ())
        branches += [
            schema[word]
            for word in ("if", "then", "else")
            if word in schema and self._rng.random() < 0.5
        ]
        for branch in branches:
            if isinstance(branch, dict) and "$ref" in branch:
                branch = self._defined(branch["$ref"])
            if isinstance(branch, dict):
                flat = self._flat(branch)
                both = {**made.get("properties", {}), **flat.get("properties", {})}
                needed = [*made.get("required", ()), *flat.get("required", ())]
                made = {**made, **flat, "properties": both, "required": needed}
                made = {
                    word: value
                    for word, value in made.items()
                    if value or word not in ("properties", "required")
                }
        return made

    def _defined(self, ref: str) -> Schema:
        found = self._schema
        for step in ref.removeprefix("#").split("/")[1:]:
            found = found[step]
        return found

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        own = schema.get("properties", {})
        made = {}
        for name in own:
            if name in schema.get("required", ()) or self._rng.random() < 0.6:
                made[name] = self._along(own[name], depth + 1)
        extra = [name for name in schema.get("required", ()) if name not in own]
        if self._rng.random() < 0.5:
            extra += [self._rng.choice(self._names) for _ in range(self._rng.randrange(3))]
        for name in extra:
            rest = schema.get("additionalProperties", True)
            made.setdefault(
                name, self._along(rest if self._rng.random() < 0.8 else True, depth + 1)
            )
        return made

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        items = schema.get("items", True)
        rows = items if isinstance(items, list) else schema.get("prefixItems", [])
        rest = schema.get("additionalItems", True) if isinstance(items, list) else items
        count = self._rng.choice((*self._counts, len(rows), len(rows) + 1))
        asked = [*rows, *([rest] * 8)][:count]
        if "contains" in schema and asked:
            asked[0] = schema["contains"]
        return [self._along(each, depth + 1) for each in asked]


def documents(schema: Schema, others: Schema, seed: int, count: int) -> Iterator[Any]:
    """Of `count` tries those that fit the schema, each once."""
    drawn = Documents(schema, others, Random(seed))
    fits = judge(schema).is_valid
    seen: set[str] = set()
    for _ in range(count):
        document = drawn.draw()
        text = json.dumps(document, sort_keys=True)
        if text not in seen:
            seen.add(text)
            if fits(document):
                yield document


def witness(writer: Schema, reader: Schema, seed: int = 1, count: int = 3_000) -> Any:
    """A document that the writer's schema takes and the reader's does not, in a list; or None."""
    takes = judge(reader).is_valid
    return next(
        ([each] for each in documents(writer, reader, seed, count) if not takes(each)), None
    )


def _bounds(low: str, high: str, base: dict[str, Any], name: str) -> list[st.SearchStrategy[Any]]:
    """Writer, reader and kind of a bound that comes, or that comes nearer."""
    limits = st.integers(2, 6)
    return [
        limits.map(lambda n: (base, {**base, high: n}, f"{name.format('MAX')}_ADDED")),
        limits.map(lambda n: (base, {**base, low: n}, f"{name.format('MIN')}_ADDED")),
        limits.map(
            lambda n: ({**base, high: n}, {**base, high: n - 1}, f"{name.format('MAX')}_DECREASED")
        ),
        limits.map(
            lambda n: ({**base, low: n}, {**base, low: n + 1}, f"{name.format('MIN')}_INCREASED")
        ),
    ]


def _type_changes() -> st.SearchStrategy[Any]:
    names = st.lists(
        st.sampled_from(("null", "boolean", "string", "object", "array", "number")), unique=True
    )
    two = names.filter(lambda drawn: len(drawn) > 1)
    return two.map(lambda drawn: ({"type": drawn[0]}, {"type": drawn[1]}, "TYPE_CHANGED"))


_CLOSED = {"type": "object", "additionalProperties": False}
_NARROWINGS = st.one_of(
    *_bounds("minimum", "maximum", {"type": "number"}, "{}IMUM"),
    *_bounds("minLength", "maxLength", {"type": "string"}, "{}_LENGTH"),
    *_bounds("minItems", "maxItems", {"type": "array"}, "{}_ITEMS"),
    _type_changes(),
    st.just(({"type": "number"}, {"type": "integer"}, "TYPE_NARROWED")),
    st.just(({"enum": [1, "a"]}, {"enum": [1]}, "ENUM_ARRAY_NARROWED")),
    st.just(({"type": "array"}, {"type": "array", "uniqueItems": True}, "UNIQUE_ITEMS_ADDED")),
    _names.map(
        lambda name: (
            {"properties": {name: {}}, **_CLOSED},
            _CLOSED,
            "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        )
    ),
    _names.map(
        lambda name: (
            {"type": "object"},
            {"type": "object", "properties": {name: {"type": "string"}}},
            "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        )
    ),
    _names.map(
        lambda name: (
            {"type": "object", "properties": {name: {}}},
            {"type": "object", "properties": {name: {}}, "required": [name]},
            "REQUIRED_ATTRIBUTE_ADDED",
        )
    ),
)


def _wrapped(schema: Schema, ways: list[int]) -> Schema:
    """In places where a value can be, whatever it is."""
    for way in ways:
        schema = (
            {"type": "object", "properties": {"a": schema}, "required": ["a"]},
            {"properties": {"b": schema}, **_CLOSED},
            {"type": "array", "items": schema},
            {"type": "object", "additionalProperties": schema},
            {"allOf": [schema]},
        )[way]
    return schema


def _wrapped_document(document: Any, ways: list[int]) -> Any:
    """Where `_wrapped` has put the schema of it."""
    for way in ways:
        document = ({"a": document}, {"b": document}, [document], {"c": document}, document)[way]
    return document


class Narrowing(NamedTuple):
    """A reader that takes less than the writer, the kind that says so, and what it refuses."""

    writer: Schema
    reader: Schema
    kind: str
    refused: Any


@st.composite
def narrowings(draw: st.DrawFn) -> Narrowing:
    writer, reader, kind = draw(_NARROWINGS)
    ways = draw(st.lists(st.integers(0, 4), max_size=3))
    # Looked for before it is wrapped: by chance alone, three wrappings down, it is not always met.
    found = witness(writer, reader)
    assert found is not None, (writer, reader)
    refused = _wrapped_document(found[0], ways)
    return Narrowing(_wrapped(writer, ways), _wrapped(reader, ways), kind, refused)


_POOL: list[Schema] = [
    True,
    {"type": "integer"},
    {"type": "number"},
    {"type": "string"},
    {"enum": [1, "a"]},
    {"const": "a"},
    {"type": ["string", "null"]},
    {"minimum": 2},
    {"maxLength": 1},
    False,
]


def _small(rng: Random, depth: int = 1) -> Schema:
    """A few words of one family, so that two of these have something to say to each other."""
    family = (
        rng.choice(("object", "object", "array", "choice", "choice", "leaf")) if depth else "leaf"
    )
    if family == "leaf":
        return rng.choice(_POOL[:-1] if depth else _POOL)
    if family == "choice":
        return _small_choice(rng, depth)
    return _small_object(rng, depth) if family == "object" else _small_array(rng, depth)


def _small_choice(rng: Random, depth: int) -> Schema:
    word = rng.choice(("oneOf", "oneOf", "anyOf", "allOf", "not", "if"))
    if word == "not":
        return {"not": _small(rng, 0)}
    if word == "if":
        return {name: _small(rng, 0) for name in ("if", "then", "else")}
    return {word: [_small(rng, depth - (rng.random() < 0.8)) for _ in range(rng.choice((2, 3)))]}


def _small_object(rng: Random, depth: int) -> Schema:
    made: dict[str, Any] = {"type": "object"}
    made["properties"] = {name: _small(rng, 0) for name in NAMES[:3] if rng.random() < 0.5}
    extras: dict[str, Any] = {
        "patternProperties": {rng.choice(PATTERNS): _small(rng, 0)},
        "additionalProperties": _small(rng, 0) if rng.random() < 0.5 else False,
        "unevaluatedProperties": _small(rng, 0) if rng.random() < 0.5 else False,
        "required": [rng.choice(NAMES[:3])],
        "dependentRequired": {"a": ["b"]},
        "allOf": [{"properties": {"ab": _small(rng, 0)}}],
        "anyOf": [{"properties": {"b": _small(rng, 0)}}, {"required": ["a"]}],
    }
    return {**made, **{word: value for word, value in extras.items() if rng.random() < 0.25}}


def _small_array(rng: Random, depth: int) -> Schema:
    extras: dict[str, Any] = {
        "items": _small(rng, 0),
        "prefixItems": [_small(rng, 0) for _ in range(rng.choice((1, 2)))],
        "unevaluatedItems": _small(rng, 0),
        "contains": _small(rng, 0),
        "minItems": rng.randrange(3),
        "maxItems": rng.randrange(3),
        "uniqueItems": True,
    }
    return {
        "type": "array",
        **{word: value for word, value in extras.items() if rng.random() < 0.35},
    }


def small_pair(seed: int) -> tuple[Schema, Schema]:
    """Two schemas of 2020-12 that know nothing of each other, or one is an edit of the other."""
    rng = Random(seed)
    state = rng.getstate()
    writer = _small(rng)
    if rng.random() < 0.7:
        again = Random()
        again.setstate(state)
        reader = edited(_small(again), _small(rng, 0), rng)
    else:
        reader = _small(rng)
    pair = [made if isinstance(made, dict) else {"allOf": [made]} for made in (writer, reader)]
    rng.shuffle(pair)
    one, other = ({"$schema": DRAFT_2020, **made} for made in pair)
    return one, other
