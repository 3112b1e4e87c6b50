"""Hundreds of generated pairs of Protobuf schemas: `buf breaking` and we agree on each."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.proto_schemas import SchemaModel, pairs
from tests.proto_tools import buf_agreement

from kafkaesque.registry.protobuf import parse
from kafkaesque.registry.schema_text import InvalidSchemaError

pytestmark = pytest.mark.compat


@given(st.lists(pairs(changes=3), min_size=20, max_size=20))
@settings(
    max_examples=60, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None
)
def test_buf_agrees_on_hundreds_of_pairs(generated: list[tuple[SchemaModel, SchemaModel]]) -> None:
    compared = []
    for old, new in generated:
        try:
            compared.append((parse(old.text()), parse(new.text())))
        except InvalidSchemaError:
            continue
    with TemporaryDirectory() as directory:
        disagreements = buf_agreement(Path(directory), compared)
    assert not disagreements, disagreements[0]
