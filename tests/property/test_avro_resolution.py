"""Verdicts on generated Avro schemas, against the `avro` package and against data in fastavro."""

import io
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import avro.compatibility
import avro.errors
import avro.schema
import fastavro
import fastavro.schema
from fastavro.read import SchemaResolutionError
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.avro_changes import pairs
from tests.avro_schemas import branch_name, data_of, named_types, schemas
from tests.tiers import examples

from kafkaesque.registry.avro import AvroSchema, incompatibilities, parse
from kafkaesque.registry.schema_text import InvalidSchemaError

PLAIN: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "int": 1,
    "long": 1,
    "float": 1.0,
    "double": 1.0,
    "bytes": b"1",
    "string": "00000000-0000-0000-0000-000000000001",
}
"""As plain as they come, and still data of every logical type."""
SIMPLE_ALIAS = re.compile(r'"aliases": \["[^".]+"')
PAIRS = pairs() | pairs(recursive=True)


def parsed(texts: tuple[str, str]) -> tuple[AvroSchema, AvroSchema]:
    try:
        return parse(texts[0]), parse(texts[1])
    except InvalidSchemaError:
        assume(False)
        raise


@given(schemas() | schemas(recursive=True))
def test_texts_come_back(schema: Any) -> None:
    parsed_once = parse(json.dumps(schema, indent=2))
    for text in (parsed_once.canonical, parsed_once.normalized()):
        again = parse(text)
        assert again.canonical == text
        assert again.normalized() == parsed_once.normalized()
        assert incompatibilities(again, parsed_once) == incompatibilities(parsed_once, again) == []


@settings(max_examples=examples(250))
@given(PAIRS)
def test_the_avro_package_agrees(texts: tuple[str, str]) -> None:
    # It does not put aliases into the namespace of their type, and it takes the first of several
    # fields that match. Java does the one and refuses the other, and so do we.
    assume(not ('"elsewhere.' in texts[0] and SIMPLE_ALIAS.search(texts[0])))
    assume(', "f0"]' not in texts[0])
    reader, writer = parsed(texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", avro.errors.IgnoredLogicalType)
        reader_there, writer_there = map(avro.schema.parse, texts)
    checker = avro.compatibility.ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
    theirs = checker.get_compatibility(reader_there, writer_there)
    is_compatible = theirs.compatibility.name == "compatible"
    assert is_compatible == (not incompatibilities(reader, writer))


@settings(max_examples=examples(250))
@given(PAIRS, st.data())
def test_a_reader_that_is_compatible_decodes_what_was_written(
    texts: tuple[str, str], data: st.DataObject
) -> None:
    reader, writer = parsed(texts)
    assume(not incompatibilities(reader, writer))
    # Bytes may be read as a string by the rules, though not all of them are one.
    with suppress(UnicodeDecodeError):
        decode(texts, data.draw(data_of(json.loads(texts[1]))))


@settings(max_examples=examples(250))
@given(PAIRS)
def test_a_reader_that_is_not_compatible_fails_on_some_datum(texts: tuple[str, str]) -> None:
    # fastavro takes aliases in any namespace, and the last of several fields that match.
    assume('"aliases": ["' not in texts[0])
    reader, writer = parsed(texts)
    found = incompatibilities(reader, writer)
    assume(found)
    assume(can_be_written(json.loads(texts[1])))
    assert witness(texts), found


def decode(texts: tuple[str, str], datum: Any) -> Any:
    reader, writer = (understood(json.loads(text)) for text in texts)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, writer, datum)
    return fastavro.schemaless_reader(io.BytesIO(out.getvalue()), writer, reader)


def understood(schema: Any) -> Any:
    try:
        return fastavro.parse_schema(schema, named_schemas={})
    except fastavro.schema.SchemaParseException:
        # It does not look for a name outside the namespace around it, and it refuses decimals that
        # are too small for their digits.
        assume(False)


def can_be_written(schema: Any) -> bool:
    """Not so if a record must hold itself: there is no end to its data."""
    types = named_types(schema)
    return all(any(True for _ in covering(each, types, ())) for each in types.values())


def witness(texts: tuple[str, str]) -> list[Any]:
    """The first datum of the writer that the reader cannot decode, if there is one."""
    writer = json.loads(texts[1])
    for datum in covering(writer, named_types(writer), ()):
        try:
            decode(texts, datum)
        except (SchemaResolutionError, KeyError, TypeError, ValueError, EOFError):
            return [datum]
    return []


def covering(schema: Any, types: dict[str, Any], around: tuple[str, ...]) -> Iterator[Any]:
    """Data that go through every branch, every symbol and every field of the schema."""
    if isinstance(schema, list):
        for branch in schema:
            for datum in covering(branch, types, around):
                yield branch_name(branch), datum
        return
    schema = types.get(branch_name(schema), schema)
    match schema if isinstance(schema, str) else schema["type"]:
        case "record" if around.count(schema["name"]) < 2:
            yield from _covering_records(schema, types, (*around, schema["name"]))
        case "record":
            return
        case "array":
            yield from ([item] for item in covering(schema["items"], types, around))
            yield []
        case "map":
            yield from ({"k": item} for item in covering(schema["values"], types, around))
            yield {}
        case "enum":
            yield from schema["symbols"]
        case "fixed":
            yield bytes(schema["size"])
        case primitive:
            yield PLAIN[primitive]


def _covering_records(schema: Any, types: dict[str, Any], around: tuple[str, ...]) -> Iterator[Any]:
    columns = {
        part["name"]: list(covering(part["type"], types, around)) for part in schema["fields"]
    }
    if all(columns.values()):
        first = {name: column[0] for name, column in columns.items()}
        yield first
        for name, column in columns.items():
            yield from ({**first, name: datum} for datum in column[1:])
