"""Pairs of Avro schemas, and what keeps the reader from reading what the writer wrote.

Each case: its name, the reader, the writer, and the findings as (kind, path, part of the message);
no findings: the reader can read it all. Every verdict was compared with Java's (tests/compat).
"""

from typing import Any, NamedTuple

NAME = "NAME_MISMATCH"
SIZE = "FIXED_SIZE_MISMATCH"
SYMBOLS = "MISSING_ENUM_SYMBOLS"
DEFAULT = "READER_FIELD_MISSING_DEFAULT_VALUE"
TYPE = "TYPE_MISMATCH"
BRANCH = "MISSING_UNION_BRANCH"


class Case(NamedTuple):
    name: str
    reader: Any
    writer: Any
    findings: list[tuple[str, str, str]]


def record(*fields: Any, name: str = "Tick", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, type_: Any = "int", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}


def enum(*symbols: str, name: str = "Side", **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "Hash", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def logical(type_: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": name, **more}


def fits(name: str, reader: Any, writer: Any) -> Case:
    return Case(name, reader, writer, [])


def fails(name: str, reader: Any, writer: Any, *findings: tuple[str, str, str]) -> Case:
    return Case(name, reader, writer, list(findings))


def refuses(reader: Any, writer: Any) -> Case:
    said = f"is {_word(reader)} in the reader, which cannot read the {_word(writer)} written"
    return fails(f"{_word(reader)} from {_word(writer)}", reader, writer, (TYPE, "/", said))


def _word(schema: Any) -> str:
    if isinstance(schema, str):
        return schema
    name = schema.get("name")
    return f"{schema['type']} {name}" if name else str(schema["type"])


LIST = record(field("next", ["null", "Tick"]), field("price"))
EMPTY = record()

PRIMITIVES = [
    *(fits(f"{one} from itself", one, one) for one in ("null", "boolean", "int", "long")),
    *(fits(f"{one} from itself", one, one) for one in ("float", "double", "bytes", "string")),
    fits("int grows to long", "long", "int"),
    fits("int grows to float", "float", "int"),
    fits("int grows to double", "double", "int"),
    fits("long grows to float", "float", "long"),
    fits("long grows to double", "double", "long"),
    fits("float grows to double", "double", "float"),
    fits("bytes from string", "bytes", "string"),
    fits("string from bytes", "string", "bytes"),
    refuses("int", "long"),
    refuses("int", "float"),
    refuses("int", "double"),
    refuses("long", "float"),
    refuses("long", "double"),
    refuses("float", "double"),
    refuses("int", "boolean"),
    refuses("boolean", "int"),
    refuses("null", "int"),
    refuses("int", "null"),
    refuses("string", "int"),
    refuses("double", "string"),
    refuses("bytes", array("int")),
    refuses(array("int"), map_of("int")),
    refuses(map_of("int"), array("int")),
    refuses(EMPTY, map_of("int")),
    refuses(enum("A"), "string"),
    refuses("string", enum("A")),
    refuses(fixed(4), "bytes"),
    refuses("bytes", fixed(4)),
    refuses(fixed(4), enum("A")),
    refuses(enum("A"), EMPTY),
]

LOGICAL = [
    fits("a date from an int", logical("int", "date"), "int"),
    fits("an int from a date", "int", logical("int", "date")),
    fits(
        "another unit of time: the bytes fit",
        logical("long", "timestamp-micros"),
        logical("long", "timestamp-millis"),
    ),
    fits(
        "another scale of a decimal: nobody checks it",
        logical("bytes", "decimal", precision=9, scale=2),
        logical("bytes", "decimal", precision=4, scale=0),
    ),
    fits("a uuid from text", logical("string", "uuid"), "string"),
    fails(
        "a timestamp from a date of the wrong width",
        logical("int", "time-millis"),
        logical("long", "time-micros"),
        (TYPE, "/", "cannot read the long"),
    ),
]

CONTAINERS = [
    fits("an array of wider items", array("long"), array("int")),
    fits("a map of wider values", map_of("double"), map_of("float")),
    fails(
        "an array of other items",
        array("int"),
        array("string"),
        (TYPE, "/items", "the items of the schema is int"),
    ),
    fails(
        "a map of other values",
        map_of("int"),
        map_of("string"),
        (TYPE, "/values", "the values of the schema"),
    ),
    fails(
        "an array in a map in a field",
        record(field("books", map_of(array("int")))),
        record(field("books", map_of(array("boolean")))),
        (TYPE, "/fields/0/type/values/items", 'the items of the values of field "books" of Tick'),
    ),
]

NAMES = [
    fits("a record in another namespace", record(name="eu.Tick"), record(name="us.Tick")),
    fits("an enum in another namespace", enum("A", name="eu.Side"), enum("A")),
    fits("a fixed in another namespace", fixed(4), fixed(4, name="eu.Hash")),
    fits(
        "a renamed record with an alias",
        record(name="eu.Quote", aliases=["Tick"]),
        record(name="eu.Tick"),
    ),
    fits("an error from a record", {**EMPTY, "type": "error"}, EMPTY),
    fails(
        "a renamed record",
        record(name="Quote"),
        EMPTY,
        (NAME, "/name", 'add the alias "Tick" to the reader'),
    ),
    fails(
        "an alias in another namespace than the writer",
        record(name="eu.Quote", aliases=["Tick"]),
        record(name="us.Tick"),
        (NAME, "/name", "is record eu.Quote in the reader but was written as record us.Tick"),
    ),
    fails(
        "an alias of the writer does not count",
        EMPTY,
        record(name="Quote", aliases=["Tick"]),
        (NAME, "/name", 'add the alias "Quote"'),
    ),
    fails(
        "a renamed enum", enum("A", name="Way"), enum("A"), (NAME, "/name", "written as enum Side")
    ),
    fails(
        "a renamed fixed", fixed(4, name="Sum"), fixed(4), (NAME, "/name", "written as fixed Hash")
    ),
    fails(
        "a renamed record is looked at all the same",
        record(field("price"), name="Quote"),
        EMPTY,
        (NAME, "/name", "Quote"),
        (DEFAULT, "/fields/0", 'field "price" of Quote is new'),
    ),
]

ENUMS = [
    fits("more symbols in the reader", enum("A", "B"), enum("A")),
    fits("symbols in another order", enum("B", "A"), enum("A", "B")),
    fits("a default for unknown symbols", enum("A", default="A"), enum("A", "B", "C")),
    fails(
        "fewer symbols in the reader",
        enum("A"),
        enum("A", "C", "B"),
        (SYMBOLS, "/symbols", "may hold C, B, which enum Side of the reader lacks"),
    ),
    fails(
        "the writer's default does not count",
        enum("A"),
        enum("A", "B", default="A"),
        (SYMBOLS, "/symbols", "may hold B"),
    ),
    fails(
        "a field's default does not stand for unknown symbols",
        record(field("side", enum("A"), default="A")),
        record(field("side", enum("A", "B"))),
        (SYMBOLS, "/fields/0/type/symbols", 'field "side" of Tick may hold B'),
    ),
    fails(
        "many missing symbols are shown in part",
        enum("Z"),
        enum(*(f"S{number}" for number in range(20))),
        (SYMBOLS, "/symbols", "S8, S9, …, which"),
    ),
    fails(
        "another name and fewer symbols",
        enum("A", name="Way"),
        enum("B"),
        (NAME, "/name", "Way"),
        (SYMBOLS, "/symbols", "B"),
    ),
]

FIXED = [
    fits("the same size", fixed(4), fixed(4)),
    fails(
        "another size",
        fixed(4),
        fixed(5),
        (SIZE, "/size", "has 4 bytes in the reader (Hash) but was written with 5"),
    ),
    fails(
        "another name and another size",
        fixed(4, name="Sum"),
        fixed(5),
        (NAME, "/name", "Sum"),
        (SIZE, "/size", "5"),
    ),
]

FIELDS = [
    fits("a field less", EMPTY, record(field("price"))),
    fits("a new field with a default", record(field("price", default=0)), EMPTY),
    fits("a new field that may be null", record(field("p", ["null", "int"], default=None)), EMPTY),
    fits("another order", record(field("a"), field("b")), record(field("b"), field("a"))),
    fits("a wider field", record(field("price", "double")), record(field("price"))),
    fits(
        "a renamed field with an alias",
        record(field("p", aliases=["price"])),
        record(field("price")),
    ),
    fits(
        "a field of the name wins over none by alias",
        record(field("p", aliases=["q"])),
        record(field("p")),
    ),
    fits(
        "docs, orders and properties",
        record(field("p", doc="d", order="ignore", x=1)),
        record(field("p")),
    ),
    fits("a field's own name as an alias", record(field("p", aliases=["p"])), record(field("p"))),
    fails(
        "a new field without a default",
        record(field("id"), field("price")),
        record(field("id")),
        (
            DEFAULT,
            "/fields/1",
            'field "price" of Tick is new in the reader and has no default: '
            "records written without it cannot be read",
        ),
    ),
    fails(
        "a new field that may be null still needs a default",
        record(field("price", ["null", "int"])),
        EMPTY,
        (DEFAULT, "/fields/0", "has no default"),
    ),
    fails(
        "the default of an enum is not one of the field",
        record(field("side", enum("A", default="A"))),
        EMPTY,
        (TYPE, "/fields/0/type", "the default of Side stands for unknown symbols only"),
    ),
    fails(
        "a renamed field",
        record(field("p")),
        record(field("price")),
        (DEFAULT, "/fields/0", 'field "p" of Tick is new'),
    ),
    fails(
        "an alias of the writer's field does not count",
        record(field("p")),
        record(field("price", aliases=["p"])),
        (DEFAULT, "/fields/0", '"p"'),
    ),
    fails(
        "another type",
        record(field("price", "int")),
        record(field("price", "string")),
        (TYPE, "/fields/0/type", 'field "price" of Tick is int in the reader'),
    ),
    fails(
        "a default does not mend another type",
        record(field("price", "int", default=0)),
        record(field("price", "string")),
        (TYPE, "/fields/0/type", "cannot read the string written"),
    ),
    fails(
        "a field that matches two",
        record(field("p", aliases=["q"])),
        record(field("p"), field("q")),
        (NAME, "/fields/0", 'field "p" of Tick matches several fields that were written, "p", "q"'),
    ),
    fails(
        "three things at once",
        record(field("a", "int"), field("b"), field("c", fixed(2))),
        record(field("a", "long"), field("c", fixed(3))),
        (DEFAULT, "/fields/1", '"b"'),
        (TYPE, "/fields/0/type", '"a"'),
        (SIZE, "/fields/2/type/size", '"c"'),
    ),
    fails(
        "a record in a record",
        record(field("inner", record(field("x"), name="Inner"))),
        record(field("inner", record(name="Inner"))),
        (DEFAULT, "/fields/0/type/fields/0", 'field "x" of Inner is new'),
    ),
    fails(
        "a type that is used twice is reported once",
        record(field("a", fixed(2)), field("b", "Hash")),
        record(field("a", fixed(3)), field("b", "Hash")),
        (SIZE, "/fields/0/type/size", '"a"'),
    ),
]

UNIONS = [
    fits("a type into a union", ["null", "int"], "int"),
    fits("a narrower type into a union", ["null", "long"], "int"),
    fits("a union of one", "int", ["int"]),
    fits("a union whose branches all fit", "double", ["int", "float"]),
    fits("more branches", ["null", "int", "string"], ["int", "null"]),
    fits("each branch grows", ["double", "string"], ["int", "long", "bytes"]),
    fits(
        "records by name",
        [record(name="A"), record(name="B")],
        [record(name="B"), record(name="A")],
    ),
    fits("an empty union wrote nothing", "int", []),
    fits("a union from an empty one", ["int"], []),
    fits("the branch that fits is not the first", [enum("A"), fixed(2), "int"], "int"),
    fails(
        "a branch less",
        ["null"],
        ["null", "int"],
        (BRANCH, "/1", "has no branch in the reader (null) for the int written"),
    ),
    fails(
        "a type that no branch takes",
        ["null", "string"],
        "int",
        (BRANCH, "/", "has no branch in the reader (null, string) for the int written"),
    ),
    fails(
        "out of a union",
        "int",
        ["null", "int"],
        (TYPE, "/0", "branch 0 of the schema is int in the reader, which cannot read the null"),
    ),
    fails(
        "out of a union in a field",
        record(field("p", "int")),
        record(field("p", ["int", "string"])),
        (TYPE, "/fields/0/type/1", 'branch 1 of field "p" of Tick'),
    ),
    fails(
        "a branch that shrank",
        ["null", "int"],
        ["null", "long"],
        (BRANCH, "/1", "for the long written"),
    ),
    fails(
        "a branch of the same name says why it does not fit",
        ["null", record(field("price"))],
        ["null", EMPTY],
        (BRANCH, "/1", 'for the record Tick written: field "price" of Tick is new in the reader'),
    ),
    fails(
        "an enum in a union says why",
        ["null", enum("A")],
        enum("B"),
        (BRANCH, "/", "for the enum Side written: the schema may hold B"),
    ),
    fails("nothing from an empty union's reader", [], "int", (BRANCH, "/", "for the int written")),
    fails(
        "two branches less",
        ["null"],
        ["int", "null", "string"],
        (BRANCH, "/0", "int"),
        (BRANCH, "/2", "string"),
    ),
]

RECURSION = [
    fits("a list from itself", LIST, LIST),
    fits(
        "a list with a new field",
        record(field("next", ["null", "Tick"]), field("p", default=1)),
        record(field("next", ["null", "Tick"])),
    ),
    fits(
        "a tree from itself",
        record(field("left", ["null", "Tick"]), field("all", array("Tick"))),
        record(field("left", ["null", "Tick"]), field("all", array("Tick"))),
    ),
    fails(
        "a list of other values: the loop is not reported as well",
        LIST,
        record(field("next", ["null", "Tick"]), field("price", "string")),
        (TYPE, "/fields/1/type", 'field "price" of Tick is int in the reader'),
    ),
    fails(
        "a renamed list",
        record(field("next", ["null", "Node"]), name="Node"),
        record(field("next", ["null", "Tick"])),
        (NAME, "/name", "written as record Tick"),
    ),
    fails(
        "two records that hold each other",
        record(field("b", record(field("a", ["null", "A"]), field("x"), name="B")), name="A"),
        record(field("b", record(field("a", ["null", "A"]), name="B")), name="A"),
        (DEFAULT, "/fields/0/type/fields/1", 'field "x" of B is new'),
    ),
    fails(
        "a record that fits only as long as nobody looks inside the loop",
        record(
            field(
                "a",
                [
                    "null",
                    record(
                        field("b", ["null", record(field("a", "A"), name="B")]),
                        field("x"),
                        name="A",
                    ),
                ],
            ),
            field("b", ["null", "B"]),
        ),
        record(
            field(
                "a",
                ["null", record(field("b", ["null", record(field("a", "A"), name="B")]), name="A")],
            ),
            field("b", ["null", "B"]),
        ),
        (BRANCH, "/fields/0/type/1", 'field "x" of A is new'),
        (BRANCH, "/fields/1/type/1", 'field "x" of A is new'),
    ),
]

CASES = [
    *PRIMITIVES,
    *LOGICAL,
    *CONTAINERS,
    *NAMES,
    *ENUMS,
    *FIXED,
    *FIELDS,
    *UNIONS,
    *RECURSION,
]
