"""A client of schema registries: ours, Confluent's, and others that speak Confluent's REST API.

client.py has the questions and commands, transport.py carries them, schema.py has the nouns,
errors.py what may go wrong. Nothing here loads httpx before a `RegistryClient` is made.
Above: client/registry_serde.py, client/decoder.py, cli/schema/, console/.
"""

from kafkaesque.client.registry.client import RegistryClient
from kafkaesque.client.registry.errors import RegistryAwayError, RegistryError
from kafkaesque.client.registry.schema import Reference, Registered, Schema, SchemaKind

__all__ = [
    "Reference",
    "Registered",
    "RegistryAwayError",
    "RegistryClient",
    "RegistryError",
    "Schema",
    "SchemaKind",
]
