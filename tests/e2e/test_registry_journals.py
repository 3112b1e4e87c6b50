"""Two journals on one topic: what one decides while it has not read what the other has written."""

import asyncio
from functools import partial
from typing import Any

import pytest
from tests.broker_process import BrokerProcess

from kafkaesque.client.connection import Address, Connection
from kafkaesque.registry.decisions.deleting import delete_version
from kafkaesque.registry.decisions.registering import Registration, register
from kafkaesque.registry.entries import Schema
from kafkaesque.registry.journal import Journal
from kafkaesque.registry.problems import ProblemError
from kafkaesque.registry.schema_text import SchemaType
from kafkaesque.registry.topic import DEFAULT_TOPIC, prepare

pytestmark = pytest.mark.slow


def registration(text: str) -> Any:
    return partial(register, request=Registration("ticks", Schema(SchemaType.AVRO, text)))


class Gate:
    """Keeps a journal from reading on until it is opened."""

    def __init__(self, journal: Journal) -> None:
        self._open = asyncio.Event()
        self._take: Any = journal.reading._take
        journal.reading._take = self._held  # type: ignore[method-assign]

    async def _held(self, fetched: Any) -> None:
        await self._open.wait()
        await self._take(fetched)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def connection(broker: BrokerProcess) -> Connection:
    return Connection((Address("127.0.0.1", broker.port),))


def test_a_refusal_waits_for_what_another_has_written(connection: Connection) -> None:
    async def run() -> None:
        size = prepare(connection, DEFAULT_TOPIC)
        async with (
            Journal(connection, DEFAULT_TOPIC, size, print) as one,
            Journal(connection, DEFAULT_TOPIC, size, print) as two,
        ):
            await two.change(registration('"string"'))
            await one.refresh()
            gate = Gate(two)
            await one.change(partial(delete_version, subject="ticks", number=1, permanent=False))
            # Two has the pen, as far as it knows, and has not seen that the version is deleted.
            finally_gone = asyncio.ensure_future(
                two.change(partial(delete_version, subject="ticks", number=1, permanent=True))
            )
            done, _ = await asyncio.wait([finally_gone], timeout=0.5)
            assert not done
            gate.open()
            assert await finally_gone == 1

    asyncio.run(run())


def test_an_id_is_not_given_twice_by_one_who_has_not_read_on(connection: Connection) -> None:
    async def run() -> None:
        size = prepare(connection, DEFAULT_TOPIC)
        async with (
            Journal(connection, DEFAULT_TOPIC, size, print) as one,
            Journal(connection, DEFAULT_TOPIC, size, print) as two,
        ):
            first = await two.change(registration('"string"'))
            gate = Gate(two)
            second = await one.change(registration('"bytes"'))
            waiting = asyncio.ensure_future(two.change(registration('["string", "bytes"]')))
            await asyncio.sleep(0.3)
            assert not waiting.done()
            gate.open()
            third = await waiting
            assert [it.id for it in (first, second, third)] == [1, 2, 3]
            assert [it.version for it in (first, second, third)] == [1, 2, 3]
            with pytest.raises(ProblemError):
                await two.change(registration('"int"'))

    asyncio.run(run())
