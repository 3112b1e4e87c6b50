"""Reading JSON Schemas: drafts, references, the forms in which they are kept, and refusals."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from kafkaesque.registry.jsonschema import incompatibilities, parse
from kafkaesque.registry.jsonschema.drafts import METASCHEMAS, Draft
from kafkaesque.registry.schema_text import InvalidSchemaError, Referenced

STRING = {"type": "string"}


def text(schema: Any) -> str:
    return json.dumps(schema)


def ref(name: str, schema: Any, *references: Referenced) -> Referenced:
    return Referenced(name, text(schema), references)


def agrees(left: Any, right: Any, references: tuple[Referenced, ...] = ()) -> bool:
    """That two schemas take the same documents."""
    one, other = parse(text(left), references), parse(text(right))
    return not incompatibilities(one, other) and not incompatibilities(other, one)


@pytest.mark.parametrize("draft", list(Draft))
def test_draft_is_told_by_its_metaschema(draft: Draft) -> None:
    uri = METASCHEMAS[draft]
    assert parse(text({"$schema": uri})).draft is draft
    assert parse(text({"$schema": uri.removesuffix("#")})).draft is draft


def test_without_a_known_schema_it_is_draft_7() -> None:
    assert parse("{}").draft is Draft.D7
    assert parse('{"$schema": "http://json-schema.org/schema#"}').draft is Draft.D7
    assert parse("true").draft is Draft.D7


def test_canonical_keeps_the_order_and_normalized_sorts_it() -> None:
    schema = parse(
        '{ "type" : "object",\n "properties": {"b": {"type":"string"}, "a": {}}, "title":"é" }'
    )
    assert schema.canonical == (
        '{"type":"object","properties":{"b":{"type":"string"},"a":{}},"title":"é"}'
    )
    assert schema.normalized() == (
        '{"properties":{"a":{},"b":{"type":"string"}},"title":"é","type":"object"}'
    )
    assert schema.formatted("serialized") == schema.formatted("resolved") == schema.canonical


@pytest.mark.parametrize("boolean", ["true", "false"])
def test_a_boolean_is_a_schema(boolean: str) -> None:
    assert parse(boolean).canonical == boolean
    assert incompatibilities(parse("true"), parse(boolean)) == []


REFUSED: list[tuple[str, str, str]] = [
    ("no JSON", "{", "not JSON"),
    ("empty", "", "not JSON"),
    ("no schema", "[]", "at #:"),
    ("a number", "3", "not of types"),
    (
        "a boolean in draft 4",
        text({"$schema": METASCHEMAS[Draft.D4], "properties": {"a": True}}),
        "#/properties/a",
    ),
    ("unknown type", text({"properties": {"a/b": {"type": "strin"}}}), "at #/properties/a~1b/type"),
    (
        "length below nothing",
        text({"items": {"minLength": -1}}),
        "at #/items/minLength: -1 is less",
    ),
    ("required as a boolean", text({"required": True}), "at #/required"),
    (
        "items as a list in 2020-12",
        text({"$schema": METASCHEMAS[Draft.D2020], "items": [{}]}),
        "at #/items",
    ),
    ("pattern", text({"properties": {"a": {"pattern": "("}}}), "'(' at #/properties/a/pattern"),
    ("name pattern", text({"patternProperties": {"[a-": {}}}), "#/patternProperties/[a-"),
    ("not a number", '{"maximum": NaN}', "NaN"),
    ("no end", '{"maximum": 1e999}', "1e999"),
    ("half a pair", '{"title": "\\ud800"}', "surrogate"),
    (
        "nowhere",
        text({"properties": {"a": {"$ref": "#/definitions/x"}}}),
        "'#/definitions/x' at #/properties/a",
    ),
    ("no anchor", text({"$ref": "#x"}), "'#x'"),
    ("no document", text({"$ref": "other.json"}), "'other.json' at #"),
    ("never fetched", text({"$ref": "http://127.0.0.1:1/x.json"}), "nothing is fetched"),
    ("no URI", text({"$ref": "http://[/x"}), "leads nowhere"),
    ("to a number", text({"$ref": "#/maximum", "maximum": 3}), "leads nowhere"),
    (
        "a definition in disorder",
        text({"$ref": "#/$defs/a", "$defs": {"a": {"type": 3}}}),
        "#/$defs/a/type",
    ),
    ("to itself", text({"$ref": "#"}), "leads back to itself"),
    (
        "to each other",
        text({"definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}}),
        "#/definitions/a",
    ),
    ("a branch of itself", text({"anyOf": [STRING, {"$ref": "#"}]}), "leads back to itself"),
    ("denying itself", text({"not": {"$ref": "#"}}), "leads back to itself"),
]


@pytest.mark.parametrize(
    ("schema", "part"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED]
)
def test_what_is_refused_says_what_and_where(schema: str, part: str) -> None:
    with pytest.raises(InvalidSchemaError) as told:
        parse(schema)
    assert part in str(told.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/definitions/s", "definitions": {"s": STRING}},
        {"$ref": "#/$defs/s", "$defs": {"s": STRING}},
        {"$ref": "#/components/a~1b/0", "components": {"a/b": [STRING]}},
        {"$ref": "#/definitions/a%20b", "definitions": {"a b": STRING}},
        {"$ref": "#s", "definitions": {"x": {"$id": "#s", **STRING}}},
        {"$id": "http://x/a.json", "$ref": "#/definitions/s", "definitions": {"s": STRING}},
        {
            "$id": "http://x/a.json",
            "allOf": [{"$ref": "b.json"}],
            "definitions": {"s": {"$id": "b.json", **STRING}},
        },
        {"$id": "urn:x:y", "allOf": [{"$ref": "#/definitions/s"}], "definitions": {"s": STRING}},
        {
            "$schema": METASCHEMAS[Draft.D2020],
            "$ref": "#s",
            "$defs": {"x": {"$anchor": "s", **STRING}},
        },
        {
            "$schema": METASCHEMAS[Draft.D2020],
            "$dynamicRef": "#s",
            "$defs": {"x": {"$dynamicAnchor": "s", **STRING}},
        },
        {
            "$schema": METASCHEMAS[Draft.D2019],
            "allOf": [{"$ref": "#/$defs/s"}],
            "$defs": {"s": STRING},
        },
        {"$schema": METASCHEMAS[Draft.D4], "$ref": "#/definitions/s", "definitions": {"s": STRING}},
    ],
    ids=lambda schema: next(str(value) for word, value in schema.items() if word != "$schema"),
)
def test_local_references_lead_home(schema: Any) -> None:
    assert agrees(schema, STRING)


def test_references_by_name_by_path_and_by_id() -> None:
    common = {"$id": "http://x/common.json", "definitions": {"s": STRING}}
    for pointing, name in (
        ("common.json#/definitions/s", "common.json"),
        ("./common.json#/definitions/s", "common.json"),
        ("http://x/common.json#/definitions/s", "anything"),
        ("http://x/common.json#/definitions/s", "http://x/common.json"),
    ):
        assert agrees({"$ref": pointing}, STRING, (ref(name, common),))
    beside = {"$id": "http://y/dir/order.json", "allOf": [{"$ref": "common.json#/definitions/s"}]}
    assert agrees(beside, STRING, (ref("common.json", {"definitions": {"s": STRING}}),))
    assert agrees(
        beside, STRING, (ref("http://y/dir/common.json", {"definitions": {"s": STRING}}),)
    )


def test_references_of_references_and_one_name_for_two_documents() -> None:
    inner = ref("s.json", STRING)
    assert agrees({"$ref": "a.json"}, STRING, (ref("a.json", {"$ref": "s.json"}, inner),))
    one = ref("one.json", {"properties": {"x": {"$ref": "t.json"}}}, ref("t.json", STRING))
    two = ref(
        "two.json", {"properties": {"y": {"$ref": "t.json"}}}, ref("t.json", {"type": "null"})
    )
    both = {"allOf": [{"$ref": "one.json"}, {"$ref": "two.json"}]}
    assert agrees(both, {"properties": {"x": STRING, "y": {"type": "null"}}}, (one, two))


def test_references_may_lead_back_through_a_property() -> None:
    order = {"$id": "http://x/order.json", "properties": {"next": {"$ref": "line.json"}}}
    line = {"$id": "http://x/line.json", "properties": {"order": {"$ref": "order.json"}}}
    schema = parse(text(order), (ref("line.json", line),))
    again = parse(text({**order, "title": "again"}), (ref("line.json", line),))
    assert incompatibilities(schema, again) == []


def test_a_reference_that_is_no_schema_is_named() -> None:
    with pytest.raises(InvalidSchemaError, match=r"reference 'a\.json': at #/type"):
        parse('{"$ref": "a.json"}', (ref("a.json", {"type": 3}),))


def test_two_documents_for_one_dynamic_anchor_are_refused() -> None:
    tree = {
        "$schema": METASCHEMAS[Draft.D2020],
        "$dynamicAnchor": "n",
        "properties": {"c": {"$dynamicRef": "#n"}},
    }
    assert parse(text(tree)).draft is Draft.D2020
    with pytest.raises(InvalidSchemaError, match="cannot tell where it leads"):
        parse(text({**tree, "$id": "http://x/strict", "$ref": "tree"}), (ref("tree", tree),))


def test_ref_hides_its_neighbours_up_to_draft_7_only() -> None:
    schema = {"$ref": "#/definitions/s", "maxLength": 2, "definitions": {"s": STRING}}
    assert agrees(schema, STRING)
    assert agrees({"$schema": METASCHEMAS[Draft.D2020], **schema}, {**STRING, "maxLength": 2})


def test_resolved_needs_no_other_document() -> None:
    line = {
        "$id": "http://x/line.json",
        "type": "object",
        "properties": {"price": {"$ref": "money.json#/definitions/m"}},
    }
    money = {"definitions": {"m": {"type": "number", "minimum": 0}}}
    order = {
        "$id": "http://x/order.json",
        "type": "object",
        "properties": {
            "lines": {"items": {"$ref": "line.json"}},
            "total": {"$ref": "#/definitions/total"},
        },
        "definitions": {"total": {"type": "number"}, "line.json": {}},
    }
    references = (ref("line.json", line, ref("money.json", money)),)
    whole = parse(text(order), references)
    resolved = json.loads(whole.formatted("resolved"))
    assert set(resolved["definitions"]) == {"total", "line.json", "line.json-2", "money.json"}
    alone = parse(text(resolved))
    assert not incompatibilities(alone, whole)
    assert not incompatibilities(whole, alone)
    fits = jsonschema.Draft7Validator(resolved).is_valid
    assert fits({"lines": [{"price": 1}], "total": 2})
    assert not fits({"lines": [{"price": -1}]})
    assert not fits({"total": "2"})
