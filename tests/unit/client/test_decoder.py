"""Decoder: framed bytes become plain data, garbage costs the registry little, memory is bounded."""

import json
import threading
from typing import Any

import pytest

from kafkaesque.client import decoder as module
from kafkaesque.client.decoder import MAX_UNKNOWN, NOT_DECODED, UNKNOWN_A_SECOND, Decoder
from kafkaesque.client.registry import RegistryAwayError, RegistryError, Schema
from kafkaesque.client.schemas import frame

STRING = Schema('"string"')
TICK = Schema(
    json.dumps(
        {
            "type": "record",
            "name": "Tick",
            "fields": [{"name": "price", "type": "double"}, {"name": "raw", "type": "bytes"}],
        }
    )
)
SAID = b"\x06abc"
"""The payload of "abc"."""


class Registry:
    """What a decoder asks of one; `asked` are the ids, in order."""

    def __init__(self, schemas: dict[int, Schema] | None = None) -> None:
        self.schemas = schemas or {}
        self.asked: list[int] = []
        self.failure: RegistryError | None = None

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Schema:  # noqa: A002
        self.asked.append(id)
        if self.failure is not None:
            raise self.failure
        if id not in self.schemas:
            raise RegistryError(f"Schema {id} not found", 40403, 404)
        return self.schemas[id]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def made(schemas: dict[int, Schema] | None = None) -> tuple[Decoder, Any, Clock]:
    registry, clock = Registry(schemas), Clock()
    return Decoder(registry, clock), registry, clock  # type: ignore[arg-type]


def test_what_is_learnt_is_decoded_and_asked_for_once() -> None:
    decoder, registry, _ = made({7: STRING})
    data = frame(7, SAID)
    assert decoder.document(data) is NOT_DECODED
    assert decoder.missing([data, None, data]) == {7}
    assert registry.asked == []
    decoder.learn({7})
    assert decoder.missing([data]) == set()
    assert decoder.document(data) == "abc"
    decoder.learn({7})
    assert registry.asked == [7]
    assert decoder.schema_id(data) == 7


def test_a_document_is_what_json_shows() -> None:
    decoder, _, _ = made({1: TICK})
    decoder.learn({1})
    payload = b"\0\0\0\0\0\0\xf8\x7f" + b"\x04\xff\0"
    assert decoder.document(frame(1, payload)) == {"price": None, "raw": "/wA="}


@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\0\0\0\0", b'{"a": 1}', b"\x01\0\0\0\x07abc", frame(0, b"x"), frame(2**31, b"")],
)
def test_bytes_that_are_not_framed_are_never_missing(data: bytes) -> None:
    decoder, _, _ = made({7: STRING})
    assert decoder.missing([data]) == set()
    assert decoder.schema_id(data) is None
    assert decoder.document(data) is NOT_DECODED


def test_a_payload_that_its_schema_does_not_fit_is_not_decoded() -> None:
    decoder, _, _ = made({7: STRING, 8: TICK})
    decoder.learn({7, 8})
    for payload in (b"", b"\x06ab", b"\x01", b"\x04\xff\xff", b"\xff" * 20):
        assert decoder.document(frame(7, payload)) is NOT_DECODED
        assert decoder.document(frame(8, payload)) is NOT_DECODED


def test_an_unknown_id_is_asked_for_again_after_a_while() -> None:
    decoder, registry, clock = made()
    data = frame(9, SAID)
    decoder.learn(decoder.missing([data]))
    assert decoder.missing([data]) == set()
    registry.schemas[9] = STRING
    clock.now += 9.9
    assert decoder.missing([data]) == set()
    clock.now += 0.2
    decoder.learn(decoder.missing([data]))
    assert decoder.document(data) == "abc"


def test_garbage_does_not_flood_the_registry() -> None:
    decoder, registry, clock = made({50_000: STRING})
    decoder.learn(range(1, 1001))
    assert len(registry.asked) == UNKNOWN_A_SECOND
    # The others count as unknown at once, and nothing at all is worth asking for now.
    assert decoder.missing([frame(each, b"") for each in (5, 999, 4711)]) == set()
    clock.now += 0.5
    assert decoder.missing([frame(4711, b"")]) == {4711}
    decoder.learn(range(1, 2001))
    assert len(registry.asked) == UNKNOWN_A_SECOND * 3 // 2
    clock.now += 1
    decoder.learn({50_000})
    assert decoder.document(frame(50_000, SAID)) == "abc"


def test_ids_that_the_registry_knows_are_learnt_however_many_there_are() -> None:
    many = dict.fromkeys(range(1, 501), STRING)
    decoder, registry, _ = made(many)
    decoder.learn(many)
    assert len(registry.asked) == 500
    assert all(decoder.document(frame(each, SAID)) == "abc" for each in many)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KNOWN", 10)
    decoder, _, clock = made(dict.fromkeys(range(1, 101), STRING))
    for each in range(1, 101):
        decoder.learn({each})
        assert decoder.document(frame(1, SAID)) == "abc", "what is in use stays"
    held = [each for each in range(1, 101) if decoder.document(frame(each, SAID)) == "abc"]
    assert 1 <= len(held) <= 10
    for _ in range(3):
        clock.now += 1
        decoder.learn(range(1000, 1000 + MAX_UNKNOWN))
    assert len(decoder._unknown) == MAX_UNKNOWN


def test_a_registry_that_is_away_is_said_and_nothing_is_remembered() -> None:
    decoder, registry, _ = made({7: STRING})
    registry.failure = RegistryAwayError("http://nowhere", "refused")
    with pytest.raises(RegistryAwayError):
        decoder.learn({7})
    assert decoder.missing([frame(7, SAID)]) == {7}
    registry.failure = RegistryError("log in", 40101, 401)
    with pytest.raises(RegistryError, match="log in"):
        decoder.learn({7})
    registry.failure = None
    decoder.learn({7})
    assert decoder.document(frame(7, SAID)) == "abc"


def test_a_schema_that_no_library_takes_counts_as_unknown() -> None:
    decoder, registry, _ = made({7: Schema("{oops"), 8: Schema("x", "XML")})  # type: ignore[arg-type]
    decoder.learn({7, 8})
    assert decoder.missing([frame(7, b""), frame(8, b"")]) == set()
    assert sorted(registry.asked) == [7, 8]


def test_threads_may_learn_and_decode_at_once() -> None:
    decoder, _, _ = made(dict.fromkeys(range(1, 201), STRING))
    found: list[Any] = []

    def work(first: int) -> None:
        for each in range(first, 201):
            decoder.learn({each})
            found.append(decoder.document(frame(each, SAID)))

    threads = [threading.Thread(target=work, args=(first,)) for first in (1, 50, 100, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {"abc"}
