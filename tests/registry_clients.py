"""Both of confluent-kafka's clients of a schema registry, asked alike: every method is awaited.

A test that is written once, `@with_both_clients async def test_…(client)`, runs with each. The
names of schemas and subjects that tests of the registry share are here too.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import AsyncSchemaRegistryClient, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from tests.broker_process import BrokerProcess
from tests.foreign import name as fresh
from tests.registry_process import RegistryProcess

CLIENTS: dict[str, Any] = {"sync": SchemaRegistryClient, "async": AsyncSchemaRegistryClient}

Test = Callable[["Client"], Awaitable[None]]


class Client:
    """`await client.any_method(…)`, whichever of the two is inside."""

    def __init__(self, kind: str, url: str, **settings: Any) -> None:
        # A refusal is to be seen at once, not after the client's retries.
        self.url = url
        self.inner: Any = CLIENTS[kind]({"url": url, "max.retries": 0, "timeout": 30, **settings})

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.inner, name)

        async def ask(*arguments: Any, **named: Any) -> Any:
            answer = method(*arguments, **named)
            return await answer if inspect.isawaitable(answer) else answer

        return ask

    async def end(self) -> None:
        if isinstance(self.inner, SchemaRegistryClient):
            self.inner.close()
        else:
            await self.inner.aclose()

    async def refusal(self, name: str, *arguments: Any, **named: Any) -> int:
        """Ask for what must be refused: the error's code, whose beginning is HTTP's status."""
        with pytest.raises(SchemaRegistryError) as caught:
            await getattr(self, name)(*arguments, **named)
        code: int = caught.value.error_code
        assert str(code).startswith(str(caught.value.http_status_code))
        assert caught.value.error_message
        return code


@contextmanager
def running_registry(directory: Path) -> Iterator[RegistryProcess]:
    """A registry with a broker of its own, which must not fail at anything meanwhile."""
    with (
        BrokerProcess(directory / "data") as broker,
        RegistryProcess(broker.bootstrap, directory / "registry.log") as running,
    ):
        yield running
        assert "Traceback" not in running.log


def with_both_clients(test: Test) -> Callable[[str, RegistryProcess], None]:
    @pytest.mark.parametrize("kind", CLIENTS)
    def run(kind: str, registry: RegistryProcess) -> None:
        async def asked() -> None:
            client = Client(kind, registry.url)
            try:
                await test(client)
            finally:
                await client.end()

        asyncio.run(asked())

    run.__name__ = getattr(test, "__name__", "test")
    run.__doc__ = test.__doc__
    return run


def avro(*fields: str, name: str = "Tick") -> str:
    """A record as it is stored; a field is `name:type`, or `name:type=default` in JSON."""
    record = {"type": "record", "name": name, "fields": [_field(it) for it in fields]}
    return json.dumps(record, separators=(",", ":"))


def _field(text: str) -> dict[str, Any]:
    left, equals, default = text.partition("=")
    name, _, kind = left.partition(":")
    field: dict[str, Any] = {"name": name, "type": kind or "string"}
    return {**field, "default": json.loads(default)} if equals else field


V1 = avro("symbol:string")
V2 = avro("symbol:string", "price:double=0.0")
V3 = avro("symbol:string", "price:double=0.0", "volume:long=0")
BREAKING = avro("symbol:string", "price:double")
"""Nobody who reads with this can read what V1 wrote."""

__all__ = [
    "BREAKING",
    "V1",
    "V2",
    "V3",
    "Client",
    "avro",
    "fresh",
    "running_registry",
    "with_both_clients",
]
