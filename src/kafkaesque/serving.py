"""Web servers of ours: a port taken in our words, and signals that stop them quietly.

Above: console/app.py, gateway/events/server.py, registry/server.py. Below: errors.py, uvicorn.
"""

import socket
from types import FrameType

import uvicorn

from kafkaesque.errors import StartError


def listen(who: str, host: str, port: int) -> socket.socket:
    """Take the port before anything else, so that a taken one is said at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        # create_server adds the address once more to the system's words.
        reason = (error.strerror or str(error)).partition(" (while ")[0]
        raise StartError(
            f"the {who} cannot listen on {address} ({reason}): "
            "choose another port with --port (0 for a free one), or another address with --host"
        ) from None
    # asyncio sets it only where a socket says that its protocol is TCP, which this one does not:
    # without it each answer on a connection that is kept would wait 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """However often it is told: uvicorn's way to hurry at the second time leaves a traceback,
        and requests without an answer. What it does not note down here it does not raise again in
        the end: a stop that was asked for is a success."""
        self.should_exit = True
