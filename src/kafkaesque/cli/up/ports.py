"""Ports of this machine: which can be had, and a complaint that names the one that cannot.

`localhost` may mean 127.0.0.1 or ::1, whichever a client's resolver says first, and a machine need
not have the second. Above: command.py.
"""

import errno
import socket

from kafkaesque.cli.output import CommandError
from kafkaesque.client.connection import Address

IPV4, IPV6 = "127.0.0.1", "::1"


def loopback(port: int, flag: str) -> list[Address]:
    """This port at every address that `localhost` can mean here. CommandError if it is taken."""
    require_free(Address(IPV4, port), flag)
    try:
        require_free(Address(IPV6, port), flag)
    except OSError:
        return [Address(IPV4, port)]
    return [Address(IPV4, port), Address(IPV6, port)]


def require_free(address: Address, flag: str) -> None:
    """CommandError if something listens there, OSError if the machine has no such address."""
    family = socket.AF_INET6 if address.host == IPV6 else socket.AF_INET
    with socket.socket(family) as probe:
        # As a server binds it: connections that are over do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            raise CommandError(
                f"cannot listen on {address} ({error.strerror}): "
                f"stop what listens there, or choose another port with {flag}"
            ) from None
