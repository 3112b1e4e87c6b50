"""Which Avro schemas can read what others wrote, and what is said about those that cannot."""

import json

import pytest
from tests.unit.registry.avro_cases import CASES, Case

from kafkaesque.registry.avro import incompatibilities, parse


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings(case: Case) -> None:
    found = incompatibilities(parse(json.dumps(case.reader)), parse(json.dumps(case.writer)))
    assert [(each.kind, each.path) for each in found] == [each[:2] for each in case.findings]
    for each, (_, _, part) in zip(found, case.findings, strict=True):
        assert part in each.message


def test_there_are_enough_cases_and_none_twice() -> None:
    assert len(CASES) >= 80
    assert len({case.name for case in CASES}) == len(CASES)
