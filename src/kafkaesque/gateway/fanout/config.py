"""What a fan-out server is told before it starts: made by cli/fanout.py, sent to each worker."""

from dataclasses import dataclass
from pathlib import Path

from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.registry_address import RegistryAddress

_WEB = Address("127.0.0.1", 8083)
_TCP = Address("127.0.0.1", 8084)


@dataclass(frozen=True, slots=True)
class FanoutConfig:
    """`web` serves WebSocket, SSE and the pages, `tcp` the length-prefixed protocol."""

    connection: Connection
    web: Address = _WEB
    tcp: Address = _TCP
    workers: int = 1
    tls_cert: Path | None = None
    tls_key: Path | None = None
    registry: RegistryAddress | None = None
    """Whose schemas explain values; without one they are what their bytes are."""
    tokens: Path | None = None
    """Who may read what (access.py); without it everybody everything."""
    origins: tuple[str, ...] = ()
    """Pages that browsers may connect from; empty: those of the same host."""
    max_connections: int = 20_000
    max_connections_per_address: int = 0
    """0: as many as there are."""
    max_new_per_second: int = 0
    max_requests_per_second: float = 50.0
    """Messages that one client may send."""
    max_subscriptions: int = 1000
    """Of one connection."""
    ping_interval_s: float = 20.0
    """An idle client is pinged so often, and closed if it is silent for twice as long."""
    handshake_s: float = 10.0
    """How long a client may take to say what it wants."""
    buffer: int = 1000
    """Messages that are kept for a slow subscription, unless it asks for fewer."""
    ring_bytes: int = 64 << 20
    """Memory for messages that slow subscriptions have not taken yet, all together."""
    send_buffer_bytes: int = 64 << 10
    """Of one socket, in the kernel: where a slow client is noticed."""
    catch_up_readers: int = 4
    """Readers of older records that run at a time."""
    read_committed: bool = True
    max_wait_ms: int = 100
    """How long a broker may wait for new records before it answers a fetch."""
    linger_ms: float = 4.0
    """While records keep coming, they are read at most so often: one write then carries more."""
    metadata_interval_s: float = 5.0
    """How often to look for new topics and partitions."""
    drain_s: float = 5.0
    """How long clients have to take what was sent, when the server stops."""
