"""What a handler knows of the request beside the request itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkaesque.broker.config import NODE_ID, Listener
from kafkaesque.protocol.header import RequestHeader

if TYPE_CHECKING:
    from kafkaesque.broker.broker import Broker


@dataclass(slots=True)
class Context:
    """One request's surroundings."""

    broker: "Broker"
    listener: Listener
    header: RequestHeader
    client_host: str
    connection: int = 0
    """Grows with every connection that is accepted."""
    ends_with_connection: bool = False
    """It changes nothing: when its client has gone, nobody needs the answer. A handler that is
    about to change something takes it back.
    """
    alone: bool = False
    """Set by a handler: what follows on the connection begins only when this is answered."""

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def advertised(self) -> tuple[int, str, int]:
        """(node id, host, port) that this client is told to come back to."""
        host = self.listener.advertised_host or self.listener.host
        return NODE_ID, host, self.listener.advertised_port or self.listener.port
