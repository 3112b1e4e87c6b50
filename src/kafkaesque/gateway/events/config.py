"""What the gateway is told before it starts: made by cli/gateway.py."""

from dataclasses import dataclass
from pathlib import Path

from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.registry_address import RegistryAddress

_HERE = Address("127.0.0.1", 8082)


@dataclass(frozen=True, slots=True)
class EventsConfig:
    connection: Connection
    address: Address = _HERE
    registry: RegistryAddress | None = None
    """Whose schemas explain values; without one they are what their bytes are."""
    tokens: Path | None = None
    """Who may read and write what (gateway/access.py); without it everybody everything."""
    origins: tuple[str, ...] = ()
    """Pages that browsers may connect from; empty: those of the same host."""
    max_streams: int = 1000
    """Streams and waiting pages that are open at a time, each with connections of its own."""
    max_body_bytes: int = 16 << 20
    """Of a body that is read as a whole, and of one line of NDJSON."""
    keep_alive_s: float = 15.0
    """A stream that has nothing to say says so this often."""
    retry_ms: int = 1000
    """How long a browser waits before it comes back."""
    metadata_interval_s: float = 5.0
    """How often a stream looks for new partitions."""
    fetch_bytes: int = 1 << 20
    """Of records that one stream asks for at a time: about what a slow client costs."""
