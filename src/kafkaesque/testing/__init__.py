"""For tests: a real broker in milliseconds, and faults on demand.

plugin.py gives pytest the fixtures `kafka` and `kafka_session`. Each is a `Kafka`: a `Kafkaesque`
that serves on a free port and whose `faults` delay, refuse or cut off the requests that a test
names. faults.py is that script and fault.py one line of it; faulty_apis.py carries it out in the
broker's table of APIs. subjects.py knows what a request is about, refusals.py what Kafka would
answer. Above: cli. Below: embedded.

pytest loads the plugin in every run, so the names here are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkaesque.testing.fault import Fault
    from kafkaesque.testing.faults import Faults
    from kafkaesque.testing.kafka import Kafka

__all__ = ["Fault", "Faults", "Kafka"]

_HOMES = {
    "Fault": "kafkaesque.testing.fault",
    "Faults": "kafkaesque.testing.faults",
    "Kafka": "kafkaesque.testing.kafka",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'kafkaesque.testing' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
