"""What is an Avro schema, what is not, and what is said about what is not."""

import json
from typing import Any

import pytest
from tests.unit.registry.avro_cases import array, enum, field, fixed, logical, map_of, record

from kafkaesque.registry.avro import parse
from kafkaesque.registry.avro.nodes import Enum, Fixed, Primitive, Record, Union
from kafkaesque.registry.schema_text import InvalidSchemaError, Referenced

INNER = record(field("x"), name="Inner")

REFUSED: list[tuple[Any, str]] = [
    (5, "a schema is a name, an object or a list, not 5"),
    (None, "not null, at /"),
    ({}, 'the schema has no "type"'),
    ({"type": 5}, '"type" must be the name of a type, not 5'),
    ({"type": {"type": "string"}}, "not an object"),
    ({"type": ["null", "string"]}, "not a list"),
    ("Tick", 'no type is named "Tick", at /: define it before it is used'),
    ({"type": "Tick"}, 'no type is named "Tick"'),
    ({"type": "record", "fields": []}, 'the record needs "name"'),
    ({"type": "record", "name": "R"}, 'R needs a list of "fields"'),
    ({"type": "record", "name": 5, "fields": []}, "the name of the record must be text"),
    (record(name=""), '"" is no legal name of the record: it is empty'),
    (record(name="1R"), '"1R" is no legal name of the record: it must start with a letter'),
    (record(name="a-b"), "only letters, digits and underscores"),
    (record(name="a..b"), '"" is no legal part of a namespace'),
    (record(name="R."), "it is empty"),
    (record(name="R", namespace="1x"), '"1x" is no legal part of a namespace'),
    (record(name="int"), "it is a primitive type; give it a namespace"),
    (record(aliases="x"), '"aliases" must be a list of names'),
    (record(aliases=[5]), '"aliases" must be a list of names'),
    (record(aliases=["1-"]), '"1-" is no legal alias of Tick'),
    (record("x"), 'a field of Tick is an object, not "x", at /fields/0'),
    (record({"type": "int"}), 'a field of Tick needs "name"'),
    (record({"name": "a"}), 'field "a" of Tick needs "type"'),
    (record(field("a.b")), '"a.b" is no legal name of a field of Tick'),
    (record(field("a"), field("a")), 'has two fields named "a"; the second at /fields/1'),
    (record(field("a", order="up")), 'not "up", at /fields/0'),
    (record(field("a", "array", items="int")), 'says "type": "array": write the whole type there'),
    (record(field("a", "enum", symbols=["A"])), '{"type": {"type": "enum", …}}'),
    (record(field("a", record())), "Tick is defined twice; the second time at /fields/0/type"),
    (record(field("a", "Inner"), field("b", INNER)), 'no type is named "Inner", at /fields/0/type'),
    (record(field("a", enum("A")), field("b", fixed(2, name="Side"))), "Side is defined twice"),
    ({"type": "enum", "name": "E"}, 'E needs a list of "symbols"'),
    (enum("A", "A"), 'Side has "A" twice'),
    (enum("1A"), '"1A" is no legal symbol of Side'),
    ({**enum(), "symbols": [1]}, "the symbols of Side must be text, not 1"),
    (enum("A", default="B"), 'the default "B" of Side is not one of its symbols'),
    ({"type": "fixed", "name": "F"}, 'F needs a "size" from 0'),
    (fixed(-1), "not -1"),
    ({**fixed(1), "size": True}, "not true"),
    ({**fixed(1), "size": "2"}, 'not "2"'),
    (fixed(1 << 31), "not 2147483648"),
    ({"type": "array"}, 'an array needs "items"'),
    ({"type": "map"}, 'a map needs "values"'),
    ({"type": "union"}, 'no type is named "union"'),
    (["null", ["int"]], "a union may not hold a union, at /1"),
    (["int", "int"], "the union has two branches of type int, at /1"),
    (["int", logical("int", "date")], "two branches of type int"),
    ([array("int"), array("string")], "two branches of type array"),
    ([record(name="a.R"), "a.R"], "two branches of type a.R"),
    (map_of(array(5)), "at /values/items"),
]

WRONG_DEFAULTS: list[tuple[Any, Any, str]] = [
    ("int", "x", '"x" is not of type int'),
    ("int", None, "null is not of type int"),
    ("int", 1.0, "1.0 is not of type int"),
    ("int", True, "true is not of type int"),
    ("int", 1 << 31, "2147483648 is not of type int"),
    ("long", 1 << 63, "is not of type long"),
    ("float", "x", '"x" is not of type float'),
    ("double", 10**400, "is not of type double"),
    ("boolean", 1, "1 is not of type boolean"),
    ("null", 0, "0 is not of type null"),
    ("string", 5, "5 is not of type string"),
    ("bytes", "€", '"€" is not of type bytes'),
    (fixed(2), "abc", '"abc" is no text of 2 bytes, as Hash wants'),
    (enum("A"), "B", '"B" is not one of the symbols of enum Side'),
    (enum("A"), ["A"], '["A"] is not one of'),
    (array("int"), {}, "{} is not of type array"),
    (array("int"), [1, "x"], '"x" is not of type int'),
    (map_of("int"), [], "[] is not of type map"),
    (map_of("int"), {"a": None}, "null is not of type int"),
    (["null", "int"], "x", '"x" is a value of no branch of the union (null, int)'),
    (INNER, 5, "5 is not of type record Inner"),
    (INNER, {}, 'it lacks the field "x" of Inner, which has no default'),
    (INNER, {"x": "y"}, 'field "x" of Inner: "y" is not of type int'),
    ("Tick", {}, "it would hold itself without end"),
]

DEFAULTS: list[tuple[Any, Any]] = [
    ("int", -(1 << 31)),
    ("long", (1 << 63) - 1),
    ("double", 1),
    ("float", "NaN"),
    ("double", "-Infinity"),
    ("bytes", "\u00ff\u0000"),
    (fixed(2), "ab"),
    (enum("A"), "A"),
    (["null", "int"], None),
    (["null", "int"], 5),
    (["int", "null"], None),
    (array(["null", "int"]), [None, 1]),
    (map_of(enum("A")), {"x": "A"}),
    (record(field("x", default=1), name="Inner"), {}),
    (INNER, {"x": 1, "unknown": 2}),
    (["null", "Tick"], None),
]


@pytest.mark.parametrize(("schema", "part"), REFUSED, ids=lambda value: str(value)[:60])
def test_refused(schema: Any, part: str) -> None:
    with pytest.raises(InvalidSchemaError) as refused:
        parse(json.dumps(schema))
    assert part in str(refused.value)


@pytest.mark.parametrize(("type_", "default", "part"), WRONG_DEFAULTS, ids=str)
def test_a_default_that_does_not_fit(type_: Any, default: Any, part: str) -> None:
    with pytest.raises(InvalidSchemaError, match='the default of field "f" of Tick does not') as no:
        parse(json.dumps(record(field("f", type_, default=default))))
    assert part in str(no.value)
    assert "/fields/0" in str(no.value)


@pytest.mark.parametrize(("type_", "default"), DEFAULTS, ids=str)
def test_a_default_that_fits(type_: Any, default: Any) -> None:
    root = parse(json.dumps(record(field("f", type_, default=default)))).root
    assert isinstance(root, Record)
    assert root.fields["f"].default == default


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("string", "not JSON: Expecting value in line 1, column 1 (a schema that is only a name"),
        ("", "not JSON"),
        ('"int" x', "Extra data in line 1, column 7"),
        ('{"type":"int",}', "not JSON"),
        ("NaN", 'NaN is no JSON: write it as text, "NaN"'),
        ('{"type":"int","x":1e400}', "the number 1e400 is too large for a double"),
        ('{"type":"int","x":' + "9" * 5000 + "}", "too many digits"),
        ('{"type":"int","x":"\\ud800"}', "half a surrogate pair"),
    ],
)
def test_text_that_is_no_json(text: str, part: str) -> None:
    with pytest.raises(InvalidSchemaError) as refused:
        parse(text)
    assert part in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "in_force"),
    [
        (logical("int", "date"), "date"),
        (logical("long", "date"), None),
        (logical("long", "no-such"), None),
        ({"type": "int", "logicalType": 5}, None),
        (logical("string", "uuid"), "uuid"),
        (logical("long", "timestamp-nanos"), "timestamp-nanos"),
        (logical("bytes", "decimal", precision=4, scale=2), "decimal"),
        (logical("bytes", "decimal", precision=4), "decimal"),
        (logical("bytes", "decimal"), None),
        (logical("bytes", "decimal", precision=0), None),
        (logical("bytes", "decimal", precision=2, scale=3), None),
        (logical("bytes", "decimal", precision="2"), None),
        (logical("string", "decimal", precision=2), None),
        (fixed(16, logicalType="uuid"), "uuid"),
        (fixed(12, logicalType="uuid"), None),
        (fixed(12, logicalType="duration"), "duration"),
        (fixed(2, logicalType="decimal", precision=4), "decimal"),
        (fixed(2, logicalType="decimal", precision=5), None),
        (fixed(0, logicalType="decimal", precision=1), None),
        (fixed(1 << 30, logicalType="decimal", precision=9), "decimal"),
    ],
    ids=str,
)
def test_logical_types_that_make_no_sense_are_ignored(schema: Any, in_force: str | None) -> None:
    node = parse(json.dumps(schema)).root
    assert isinstance(node, Primitive | Fixed)
    assert node.logical == in_force


def test_what_a_record_holds() -> None:
    inner = enum("A", "B", default="B", doc="which", aliases=["Way", "us.Way"])
    schema = record(
        field("side", inner, doc="of the book", order="IGNORE", aliases=["s"], default="A", x=1),
        field("more", ["null", "Tick", "eu.Side"]),
        namespace="eu",
        doc="one",
    )
    root = parse(json.dumps(schema)).root
    assert isinstance(root, Record)
    assert (root.name, root.doc, root.is_error) == ("eu.Tick", "one", False)
    side, more = root.fields.values()
    assert (side.doc, side.order, side.aliases, side.props) == (
        "of the book",
        "ignore",
        ("s",),
        {"x": 1},
    )
    assert isinstance(side.node, Enum)
    assert (side.node.name, side.node.aliases) == ("eu.Side", ("eu.Way", "us.Way"))
    assert (list(side.node.symbols), side.node.default) == (["A", "B"], "B")
    assert isinstance(more.node, Union)
    assert more.node.branches[1:] == (root, side.node)


def test_names_of_any_script_are_legal() -> None:
    root = parse(json.dumps(record(field("größe_2"), name="Stück"))).root
    assert isinstance(root, Record)
    assert list(root.fields) == ["größe_2"]


def test_references_are_known_by_full_name() -> None:
    price = Referenced("shop.Price", json.dumps(record(field("cents"), name="shop.Price")))
    line = record(field("price", "Price"), name="shop.Line")
    lines = Referenced("shop.Line", json.dumps(line), (price,))
    order = record(field("lines", array("shop.Line")), field("sum", "shop.Price"), name="Order")
    root = parse(json.dumps(order), [lines]).root
    assert isinstance(root, Record)
    assert root.fields["sum"].node is not None
    assert (
        parse(json.dumps(order), [lines, price]).canonical
        == parse(json.dumps(order), [price, lines]).canonical
    )


def test_a_diamond_of_references_is_parsed_once() -> None:
    base = Referenced("Base", json.dumps(record(name="Base")))
    left = Referenced("Left", json.dumps(record(field("b", "Base"), name="Left")), (base,))
    right = Referenced("Right", json.dumps(record(field("b", "Base"), name="Right")), (base,))
    assert parse('["Left","Right"]', [left, right]).canonical == '["Left","Right"]'


def test_an_error_in_a_reference_says_in_which() -> None:
    with pytest.raises(InvalidSchemaError, match='in the reference "Price": not JSON'):
        parse('"Price"', [Referenced("Price", "{")])


def test_two_references_that_define_the_same_name() -> None:
    one, other = (Referenced("R", json.dumps(record(name="R", doc=doc))) for doc in ("a", "b"))
    with pytest.raises(InvalidSchemaError, match='in the reference "R": R is defined twice'):
        parse('"R"', [one, other])


def test_a_schema_may_be_only_the_name_of_a_referenced_type() -> None:
    assert parse('"R"', [Referenced("R", json.dumps(record(name="R")))]).canonical == '"R"'
