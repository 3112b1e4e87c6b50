"""Ports that several workers share: the parent reserves one, each worker listens on it.

SO_REUSEPORT lets the kernel spread connections over the workers. A reserved socket never listens,
and so gets none; it keeps the port while workers come and go, and gives port 0 its number.
Above: workers.py reserves, server.py listens.
"""

import errno
import socket

from kafkaesque.client.connection import Address
from kafkaesque.errors import StartError

_BACKLOG = 4096


def reserve(address: Address, flag: str) -> socket.socket:
    """Keep a port until the socket is closed. StartError, naming `flag`, if it cannot be had."""
    try:
        # Without SO_REUSEPORT first: with it, another fan-out's port would be taken for ours.
        _bound(address, shared=False).close()
        return _bound(address, shared=True)
    except OSError as error:
        raise StartError(_cause(address, flag, error)) from None


def listen(address: Address) -> socket.socket:
    """A listening socket on a port that is reserved, for one worker."""
    listener = _bound(address, shared=True)
    listener.listen(_BACKLOG)
    listener.setblocking(False)
    return listener


def address_of(bound: socket.socket, host: str) -> Address:
    """As clients are told it: the host that was asked for, the port that it is."""
    return Address(host, bound.getsockname()[1])


def _bound(address: Address, *, shared: bool) -> socket.socket:
    family, kind, protocol, _, place = socket.getaddrinfo(
        *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind(place)
    except BaseException:
        bound.close()
        raise
    return bound


def _cause(address: Address, flag: str, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"{address} is in use: stop what listens there, or choose another port with {flag} "
            "(0 for a free one)"
        )
    why = error.strerror or error
    return f"cannot listen on {address} ({why}): choose an address with --host and {flag}"
