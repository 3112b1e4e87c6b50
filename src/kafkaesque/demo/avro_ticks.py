"""Stock ticks as Avro, described by a schema registry: the task at the end of the course.

The time is Avro's own, in microseconds. Above: cli/demo.py. Below: client/schema_forms/, ticks.py.
"""

import time
from collections.abc import Callable, Iterator

from kafkaesque.client.registry import RegistryAwayError, RegistryClient
from kafkaesque.client.schema_forms.forms import forms
from kafkaesque.client.schema_forms.options import SchemaOptions
from kafkaesque.demo.ticks import Encode, Tick

SCHEMA = {
    "type": "record",
    "name": "StockTick",
    "namespace": "kafkaesque.demo",
    "doc": "The price of a stock at a moment.",
    "fields": [
        {"name": "event_time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "ticker", "type": "string"},
        {"name": "price", "type": "double"},
    ],
}
_PAUSE_S = 0.2


def avro_encoder(registry: RegistryClient, topic: str) -> Encode:
    """Registers the schema as the topic's. Raises RegistryError."""
    _, value = forms("str", "avro", SchemaOptions(schema=SCHEMA, registry=registry))
    assert value.for_topic is not None
    encode = value.for_topic(topic).encode
    moment = Tick(0, "", 0.0)
    encode(_fields(moment))  # The registry is asked at the first one.

    def encoded(tick: Tick) -> bytes:
        return encode(_fields(tick))

    return encoded


def wait_for(
    registry: RegistryClient, topic: str, tell: Callable[[str], None]
) -> Iterator[Encode | None]:
    """`avro_encoder`, as soon as the registry answers; None each time that it does not."""
    is_told = False
    while True:
        try:
            yield avro_encoder(registry, topic)
            return
        except RegistryAwayError as error:
            if not is_told:
                tell(f"{error}; waiting for it")
                is_told = True
        yield None
        time.sleep(_PAUSE_S)


def _fields(tick: Tick) -> dict[str, object]:
    return {"event_time": tick.event_time, "ticker": tick.ticker, "price": tick.price}
