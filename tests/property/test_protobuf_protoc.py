"""The Protobuf parser and printer against protoc: the same descriptors, in both directions."""

import base64
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.proto_schemas import SchemaModel, schemas
from tests.proto_tools import comparable, compiled

from kafkaesque.registry.protobuf import ProtobufSchema, descriptor, message_names, parse
from kafkaesque.registry.schema_text import Referenced

WRITTEN = {
    path.name: path.read_text()
    for path in sorted((Path(__file__).parents[1] / "proto_texts").glob("*.proto"))
}


def parsed(text: str, name: str = "") -> ProtobufSchema:
    others = [Referenced(other, body) for other, body in WRITTEN.items() if other != name]
    return parse(text, others)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    files = compiled(tmp_path_factory.mktemp("written"), WRITTEN)
    return {name: file.SerializeToString() for name, file in files.items()}


@pytest.fixture(scope="module")
def printed_again(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    texts = {name: parsed(text, name).canonical for name, text in WRITTEN.items()}
    files = compiled(tmp_path_factory.mktemp("printed"), texts)
    return {name: file.SerializeToString() for name, file in files.items()}


@pytest.mark.parametrize("name", WRITTEN)
def test_parses_every_statement_as_protoc_does(name: str, theirs: dict[str, bytes]) -> None:
    ours = parsed(WRITTEN[name], name)
    wanted = type(descriptor(ours)).FromString(theirs[name])
    pool = ours.built.pool
    assert comparable(descriptor(ours), pool) == comparable(wanted, pool)


@pytest.mark.parametrize("name", WRITTEN)
def test_the_printed_text_means_the_same_to_protoc(
    name: str, theirs: dict[str, bytes], printed_again: dict[str, bytes]
) -> None:
    ours = parsed(WRITTEN[name], name)
    kind = type(descriptor(ours))
    again, first = kind.FromString(printed_again[name]), kind.FromString(theirs[name])
    pool = ours.built.pool
    assert comparable(again, pool) == comparable(first, pool)


@pytest.mark.parametrize("name", WRITTEN)
def test_base64_of_protoc_is_the_same_schema(name: str, theirs: dict[str, bytes]) -> None:
    ours = parsed(WRITTEN[name], name)
    encoded = parsed(base64.b64encode(theirs[name]).decode(), name)
    assert encoded.canonical == ours.canonical
    assert parsed(ours.formatted("serialized"), name).canonical == ours.canonical


@given(st.lists(schemas(rich=True), min_size=6, max_size=12))
@settings(max_examples=4, phases=[Phase.generate])
def test_generated_schemas_mean_the_same_to_protoc(models: list[SchemaModel]) -> None:
    texts, ours = {}, {}
    for index, model in enumerate(models):
        text = replace(model, package=f"shop.v{index}").text()
        name = f"s{index}.proto"
        ours[name] = parse(text)
        texts[name] = text
        texts[f"again_{name}"] = ours[name].canonical.replace("shop.v", "shop.w")
        texts[f"normal_{name}"] = ours[name].normalized().replace("shop.v", "shop.x")
    with TemporaryDirectory() as directory:
        theirs = compiled(Path(directory), texts)
    for name, schema in ours.items():
        wanted = comparable(theirs[name])
        assert comparable(descriptor(schema)) == wanted
        again = theirs[f"again_{name}"].SerializeToString().replace(b"shop.w", b"shop.v")
        assert comparable(type(wanted).FromString(again)) == wanted
        normal = parse(texts[f"normal_{name}"].replace("shop.x", "shop.v"))
        assert message_names(normal) == message_names(schema)
        assert normal.normalized() == schema.normalized()
