"""Schemas of a gateway: waits for a registry for a while, and goes on without it then."""

import asyncio
import functools
import logging
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from kafkaesque.client.registry import RegistryAwayError, Schema
from kafkaesque.client.schemas import frame
from kafkaesque.gateway import schemas as module
from kafkaesque.gateway.fanout.stats import Stats
from kafkaesque.gateway.schemas import Schemas
from kafkaesque.records.record import Record

SAID = frame(7, b"\x06abc")


class Registry:
    """Is away for the first so many questions."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.asked = 0
        self.is_closed = False

    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Schema:  # noqa: A002
        self.asked += 1
        if self.asked <= self.away:
            raise RegistryAwayError("http://nowhere", "refused")
        return Schema('"string"')

    def close(self) -> None:
        self.is_closed = True


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 60.0)
    monkeypatch.setattr(module, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(module, "_LONGEST_PAUSE_S", 0.01)


def made(away: int) -> tuple[Schemas, Any, Stats]:
    registry, stats = Registry(away), Stats()
    return Schemas(registry, stats), registry, stats  # type: ignore[arg-type]


@in_a_loop
async def test_a_registry_that_comes_back_in_time_is_waited_for() -> None:
    schemas, registry, stats = made(away=3)
    await schemas.learn(schemas.missing([SAID]))
    assert schemas.missing([SAID]) == set()
    assert schemas.document(SAID) == "abc"
    assert (registry.asked, stats.undecodable) == (4, 0)


@in_a_loop
async def test_one_that_stays_away_holds_up_nobody_and_is_found_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas, registry, stats = made(away=10**9)
    # Time passes by questions: the third is the last within the gateway's patience.
    clock = SimpleNamespace(monotonic=lambda: registry.asked * module.PATIENCE_S / 3)
    monkeypatch.setattr(module, "time", clock)
    looking = asyncio.create_task(schemas.run())
    ids = schemas.missing([SAID])
    await asyncio.gather(*(schemas.learn(ids) for _ in range(5)))
    assert schemas.missing([SAID]) == set()
    assert schemas.decoded(Record(0, 0, None, SAID)).text().value == SAID
    assert stats.undecodable == 1
    registry.away = 0
    async with asyncio.timeout(60):
        while schemas.missing([frame(8, b"")]) != {8}:
            await asyncio.sleep(0.005)
    # Another object of the same bytes: what was decoded last is remembered.
    assert schemas.document(bytes(bytearray(SAID))) == "abc"
    looking.cancel()
    await asyncio.wait({looking})
    assert registry.is_closed
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 2
    assert "until the schema registry is back" in told[0]
    assert "http://nowhere" in told[0]
    assert "is back" in told[1]


@in_a_loop
async def test_a_record_is_decoded_once_for_all_forms() -> None:
    schemas, _, stats = made(away=0)
    await schemas.learn({7})
    record = Record(3, 4, SAID, SAID, (("h", b"1"),))
    decoded = schemas.decoded(record)
    assert schemas.decoded(record) is decoded
    assert decoded.text() is decoded.text()
    assert decoded.text() == record._replace(key=b'"abc"', value=b'"abc"')
    fields = schemas.fields("t", 0, record)
    assert (fields["key"], fields["value"]) == ("abc", "abc")
    assert (fields["key_schema_id"], fields["value_schema_id"]) == (7, 7)
    plain = schemas.fields("t", 0, Record(3, 4, None, b"{}"))
    assert plain == {
        "topic": "t",
        "partition": 0,
        "offset": 3,
        "timestamp": 4,
        "key": None,
        "value": "{}",
        "headers": [],
    }
    assert stats.undecodable == 0
