"""Written cases of JSON Schema compatibility, each backed by documents and a foreign validator."""

import json
from typing import Any

import pytest
from tests.json_schemas import documents, judge, witness
from tests.unit.registry.jsonschema_cases import CASES

from kafkaesque.registry.jsonschema import incompatibilities, parse
from kafkaesque.registry.schema_text import Incompatibility

CASE = pytest.mark.parametrize(
    ("writer", "reader", "kind", "path", "part"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)


def found(writer: Any, reader: Any) -> list[Incompatibility]:
    return incompatibilities(reader=parse(json.dumps(reader)), writer=parse(json.dumps(writer)))


def with_defaults(document: Any, schema: Any) -> Any:
    """As a reader fills them in."""
    if isinstance(document, dict) and isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            if isinstance(inner, dict) and "default" in inner:
                document.setdefault(name, inner["default"])
    return document


@CASE
def test_verdict_kind_path_and_message(
    writer: Any, reader: Any, kind: str | None, path: str, part: str
) -> None:
    told = found(writer, reader)
    if kind is None:
        assert told == []
    else:
        matching = [each for each in told if (each.kind, each.path) == (kind, path)]
        assert matching, told
        assert part in matching[0].message


@CASE
def test_documents_agree_with_the_verdict(
    writer: Any, reader: Any, kind: str | None, path: str, part: str
) -> None:
    if kind is not None:
        assert witness(writer, reader) is not None
    else:
        takes = judge(reader).is_valid
        for document in documents(writer, reader, seed=1, count=200):
            assert takes(with_defaults(document, reader)), document


def test_names_of_cases_are_all_different() -> None:
    assert len({case[0] for case in CASES}) == len(CASES) >= 80
