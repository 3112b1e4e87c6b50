"""Kafkaesque: an event-streaming platform that installs with pip.

The names in `__all__` are the public ones; each is imported when it is first used, so that
`import kafkaesque` costs nothing and a broker process loads no client.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkaesque.client.app import App
    from kafkaesque.client.consumer import Consumer
    from kafkaesque.client.producer import Producer
    from kafkaesque.client.table import Table
    from kafkaesque.embedded.group import ConsumerGroup
    from kafkaesque.embedded.kafkaesque import Kafkaesque
    from kafkaesque.embedded.topic import Topic
    from kafkaesque.errors import KafkaError
    from kafkaesque.event import Event

__all__ = [
    "App",
    "Consumer",
    "ConsumerGroup",
    "Event",
    "KafkaError",
    "Kafkaesque",
    "Producer",
    "Table",
    "Topic",
    "__version__",
]

__version__: str

_HOMES = {
    "App": "kafkaesque.client.app",
    "Consumer": "kafkaesque.client.consumer",
    "ConsumerGroup": "kafkaesque.embedded.group",
    "Event": "kafkaesque.event",
    "KafkaError": "kafkaesque.errors",
    "Kafkaesque": "kafkaesque.embedded.kafkaesque",
    "Producer": "kafkaesque.client.producer",
    "Table": "kafkaesque.client.table",
    "Topic": "kafkaesque.embedded.topic",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = import_module("importlib.metadata").version("kafkaesque-broker")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'kafkaesque' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
