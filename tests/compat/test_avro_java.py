"""Avro's schemas and their compatibility: what Java's library says, the registry says."""

import json
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.avro_changes import pairs
from tests.compat import avro_oracle
from tests.unit.registry.avro_cases import CASES
from tests.unit.registry.test_avro_texts import CANONICAL

from kafkaesque.registry.avro import AvroSchema, incompatibilities, parse
from kafkaesque.registry.schema_text import InvalidSchemaError

pytestmark = pytest.mark.compat

PAIRS = 3000
JAVA_FAILS = ("a field's own name as an alias",)
HUGE_INTEGER = re.compile("[0-9]{20}")
"""Java 1.12.0 stumbles over them in properties; 1.11 does not."""
HAS_UNION = re.compile(r'^\[|"(type|items|values)":\[')
"""What Java met first in a union it reports with a path that starts there, wherever it is."""


def legal_pairs(count: int) -> list[tuple[AvroSchema, AvroSchema]]:
    found: list[tuple[AvroSchema, AvroSchema]] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(pairs() | pairs(recursive=True))
    def draw_one(texts: tuple[str, str]) -> None:
        with suppress(InvalidSchemaError):
            found.append((parse(texts[0]), parse(texts[1])))

    draw_one()
    return found


@pytest.mark.timeout(600)
def test_java_agrees_on_generated_pairs(tmp_path: Path) -> None:
    found = legal_pairs(PAIRS)
    assert len(found) >= 2000
    texts = [(reader.canonical, writer.canonical) for reader, writer in found]
    answers = avro_oracle.answers(texts, tmp_path)
    seen: Counter[str] = Counter()
    for (reader, writer), answer in zip(found, answers, strict=True):
        ours = incompatibilities(reader, writer)
        here = f"{reader.canonical}\n{writer.canonical}\n{answer}\n{ours}"
        assert (answer.reader, answer.writer) == (reader.canonical, writer.canonical)
        assert bool(ours) == (answer.verdict != "COMPATIBLE"), here
        if answer.verdict == "INCOMPATIBLE":
            kinds = {each.split("@")[0] for each in answer.findings}
            assert {each.kind for each in ours} == kinds, here
            if not (HAS_UNION.search(reader.canonical) or HAS_UNION.search(writer.canonical)):
                assert {f"{each.kind}@{each.path}" for each in ours} == answer.findings, here
        seen.update({each.kind for each in ours} or {answer.verdict})
    assert seen["COMPATIBLE"] > PAIRS // 10
    assert len(seen) >= 7, seen


def test_java_agrees_on_the_written_cases(tmp_path: Path) -> None:
    texts = [(json.dumps(case.reader), json.dumps(case.writer)) for case in CASES]
    for case, answer in zip(CASES, avro_oracle.answers(texts, tmp_path), strict=True):
        if not case.findings:
            assert answer.verdict == "COMPATIBLE" or case.name in JAVA_FAILS, case.name
        elif answer.verdict != "UNDECIDED":
            kinds = {each.split("@")[0] for each in answer.findings}
            assert kinds == {kind for kind, _, _ in case.findings}, case.name


def test_java_prints_the_written_texts(tmp_path: Path) -> None:
    texts = [(text, canonical) for text, canonical in CANONICAL if not HUGE_INTEGER.search(text)]
    for (text, canonical), answer in zip(texts, avro_oracle.answers(texts, tmp_path), strict=True):
        assert answer.reader == answer.writer == canonical, text
