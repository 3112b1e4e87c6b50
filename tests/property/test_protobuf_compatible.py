"""The compatibility rules of Protobuf against what decoding does, and against `buf breaking`."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from tests.proto_data import faithful, message_class, samples
from tests.proto_schemas import SchemaModel, pairs
from tests.proto_tools import buf_agreement
from tests.tiers import examples

from kafkaesque.registry.protobuf import ProtobufSchema, incompatibilities, parse
from kafkaesque.registry.schema_text import InvalidSchemaError

WITNESSED = {
    "FIELD_KIND_CHANGED",
    "FIELD_SCALAR_KIND_CHANGED",
    "REQUIRED_FIELD_ADDED",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF",
    "FIELD_MOVED_TO_EXISTING_ONEOF",
}
"""Kinds for which a message exists that is read wrongly. The others are refused for their names
(another message), for what a reader cannot tell (a oneof that seems unset) or as protobuf's own
rules refuse them (a list where a single number was: that one can be read, the reverse cannot)."""

SAMPLINGS = 50


def parsed_pair(pair: tuple[SchemaModel, SchemaModel]) -> tuple[ProtobufSchema, ProtobufSchema]:
    old, new = pair
    try:
        return parse(old.text()), parse(new.text())
    except InvalidSchemaError:
        assume(False)
        raise


@given(pairs(), st.integers(0, 2**32))
@settings(max_examples=examples(80))
def test_what_is_compatible_reads_what_was_written(
    pair: tuple[SchemaModel, SchemaModel], seed: int
) -> None:
    writer, reader = parsed_pair(pair)
    if incompatibilities(reader, writer):
        return
    for name in writer.built.message_types_by_name:
        kind = message_class(reader, name)
        for written in samples(writer, name, seed):
            if written.IsInitialized():
                assert faithful(kind, written), written


@given(pairs(changes=1), st.integers(0, 2**32))
@settings(max_examples=examples(80))
def test_what_is_incompatible_has_a_witness(
    pair: tuple[SchemaModel, SchemaModel], seed: int
) -> None:
    writer, reader = parsed_pair(pair)
    found = [each for each in incompatibilities(reader, writer) if each.kind in WITNESSED]
    for each in found:
        # A bool keeps zero apart from the rest in any encoding, and a closed enum drops the rest.
        if re.search(r'(bool|enum "[\w.]+") for the reader', each.message):
            continue
        name = each.path.split("/")[1]
        kind = message_class(reader, name)
        _, *full = samples(writer, name, seed)
        # A message that requires itself cannot be written at all.
        if not any(one.IsInitialized() for one in full):
            continue
        # A value may be zero by chance, and is not written then.
        written = (one for more in range(SAMPLINGS) for one in samples(writer, name, seed + more))
        assert any(one.IsInitialized() and not faithful(kind, one) for one in written), each


@given(st.lists(pairs(), min_size=20, max_size=20))
@settings(max_examples=3, phases=[Phase.generate])
def test_buf_agrees_up_to_the_known_differences(
    generated: list[tuple[SchemaModel, SchemaModel]],
) -> None:
    compared = []
    for pair in generated:
        try:
            compared.append((parse(pair[0].text()), parse(pair[1].text())))
        except InvalidSchemaError:
            continue
    assume(compared)
    with TemporaryDirectory() as directory:
        disagreements = buf_agreement(Path(directory), compared)
    assert not disagreements, disagreements[0]
