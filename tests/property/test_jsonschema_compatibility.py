"""Random schemas and small changes: what we call compatible, documents must confirm.

The judge is the package jsonschema. `compatible` may not let one document through that the writer
takes and the reader refuses; `incompatible` must be backed by such a document where the change is
plain enough that there has to be one.
"""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.json_schemas import Narrowing, documents, judge, narrowings, pairs, small_pair
from tests.tiers import examples

from kafkaesque.registry.jsonschema import incompatibilities, parse
from kafkaesque.registry.schema_text import InvalidSchemaError

SLOW = settings(suppress_health_check=list(HealthCheck), deadline=None)


def check(writer: Any, reader: Any, seed: int) -> None:
    try:
        old, new = parse(json.dumps(writer)), parse(json.dumps(reader))
    except InvalidSchemaError:
        return
    if not incompatibilities(new, old):
        takes = judge(reader).is_valid
        for document in documents(writer, reader, seed, 60):
            assert takes(document), (writer, reader, document)


@settings(SLOW, max_examples=examples(100))
@given(pair=pairs(), seed=st.integers(0, 1000))
def test_what_is_compatible_takes_every_document(pair: tuple[Any, Any], seed: int) -> None:
    check(*pair, seed)


@settings(SLOW, max_examples=20)
@given(start=st.integers(0, 10**9))
def test_small_schemas_that_are_compatible_take_every_document(start: int) -> None:
    for seed in range(start, start + 50):
        check(*small_pair(seed), seed)


@settings(SLOW, max_examples=examples(100))
@given(pair=pairs())
def test_a_schema_reads_what_it_wrote(pair: tuple[Any, Any]) -> None:
    for schema in pair:
        try:
            parsed, again = parse(json.dumps(schema)), parse(json.dumps(schema))
        except InvalidSchemaError:
            continue
        assert incompatibilities(parsed, again) == []


@settings(SLOW, max_examples=examples(100))
@given(change=narrowings())
def test_what_takes_less_is_told_by_kind_and_has_a_witness(change: Narrowing) -> None:
    told = incompatibilities(parse(json.dumps(change.reader)), parse(json.dumps(change.writer)))
    assert change.kind in {each.kind for each in told}
    assert judge(change.writer).is_valid(change.refused)
    assert not judge(change.reader).is_valid(change.refused)


@settings(SLOW, max_examples=examples(100))
@given(change=narrowings())
def test_what_takes_more_is_compatible(change: Narrowing) -> None:
    told = incompatibilities(parse(json.dumps(change.writer)), parse(json.dumps(change.reader)))
    assert told == [] or change.kind == "TYPE_CHANGED"
