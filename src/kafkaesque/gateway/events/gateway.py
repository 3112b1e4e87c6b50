"""What all requests share: the producer, the streams, the figures, and the way to the cluster.

Made in the event loop when the server starts, closed when it stops. The cluster need not be there
yet, nor the schema registry, if there is to be one. Questions that librdkafka answers are asked in
threads, so that nobody else waits.
Above: app.py and all routes. Below: writer.py, streams.py, encoders.py, client/admin.py.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from kafkaesque.client.admin import Admin
from kafkaesque.client.event_json import event_fields
from kafkaesque.client.fetch import Fetcher
from kafkaesque.gateway.access import Access, Grant
from kafkaesque.gateway.events.config import EventsConfig
from kafkaesque.gateway.events.encoders import Encoders
from kafkaesque.gateway.events.forms import Fields
from kafkaesque.gateway.events.problems import ProblemError, bad_parameter, unknown_topic
from kafkaesque.gateway.events.stats import Stats
from kafkaesque.gateway.events.streams import Streams
from kafkaesque.gateway.events.want import Want
from kafkaesque.gateway.events.writer import EventWriter
from kafkaesque.gateway.schemas import Schemas, opened

T = TypeVar("T")

_KNOWN_FOR_S = 1.0
"""A topic that was there a moment ago is not asked for again."""


class Gateway:
    """`questions` is a fetcher that fetches nothing."""

    def __init__(self, config: EventsConfig, access: Access, questions: Fetcher) -> None:
        self.config = config
        self.access = access
        self.stats = Stats()
        self.streams = Streams(config.max_streams, self.stats)
        self.writer = EventWriter(config.connection, self.stats, config.max_body_bytes)
        self.questions = questions
        self.schemas: Schemas | None = None
        if config.registry is not None:
            self.schemas = opened(config.registry, self.stats)
        self.encoders = Encoders(self.schemas)
        self._looking = None if self.schemas is None else asyncio.create_task(self.schemas.run())
        self._known: dict[str, float] = {}
        self._admin: Admin | None = None
        self._connecting = threading.Lock()

    async def require_topic(self, topic: str) -> None:
        """Never makes one, unlike a producer that asks for itself."""
        if time.monotonic() - self._known.get(topic, -_KNOWN_FOR_S) < _KNOWN_FOR_S:
            return
        if topic not in await self.questions.partitions([topic]):
            self._known.pop(topic, None)
            raise unknown_topic(topic)
        self._known[topic] = time.monotonic()

    async def ask(self, question: Callable[[Admin], T]) -> T:
        return await asyncio.to_thread(lambda: question(self._connected()))

    def fields(self, want: Want) -> Fields:
        """How events are told."""
        if not want.decodes:
            return event_fields
        if self.schemas is None:
            raise bad_parameter(
                "decode", "nothing is decoded here: start the gateway with --registry"
            )
        return self.schemas.fields

    def stop(self) -> None:
        """End what would go on: the server then stops by itself."""
        self.streams.stopping.set()

    async def close(self) -> None:
        await self.writer.close()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait({self._looking})

    def _connected(self) -> Admin:
        with self._connecting:
            if self._admin is None:
                self._admin = Admin.connect(self.config.connection)
            return self._admin


def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


def _grant(request: Request) -> Grant:
    grant: Grant = request.state.grant
    return grant


TheGateway = Annotated[Gateway, Depends(_gateway)]
TheGrant = Annotated[Grant, Depends(_grant)]


def require_write(grant: Grant, topic: str) -> None:
    if refusal := grant.write_refusal(topic):
        raise ProblemError(403, "TOPIC_AUTHORIZATION_FAILED", refusal)


def require_no_tokens(gateway: TheGateway) -> None:
    """Tokens say who may read and write what, and nothing about the rest."""
    if gateway.access.needs_token:
        raise ProblemError(
            403,
            "CLUSTER_AUTHORIZATION_FAILED",
            "this gateway was started with --tokens, which are for events only: "
            "ask a gateway without them",
        )
