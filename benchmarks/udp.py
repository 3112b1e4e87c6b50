"""`python -m benchmarks.udp`: what a 512-byte message costs the sender over TCP and over UDP.

The same number of receivers on loopback, in a process of their own that reads and forgets; the
sender's CPU time per message, user and system apart, and how many of the messages arrived. TCP with
one message per write and with ten joined, as the fan-out joins what comes in one turn of its loop;
UDP with one message per datagram, for there is no joining those that go to one receiver without
a format of one's own, and no sendmmsg in Python.
"""

import multiprocessing
import os
import resource
import selectors
import socket
import time
from multiprocessing.connection import Connection

_RECEIVERS = 1000
_ROUNDS = 100
_MESSAGE = b"x" * 512
_JOINED = 10


def receive(kind: int, tell: "Connection[object, object]") -> None:
    """Open the receivers, read whatever comes for as long as something does, tell how much."""
    selector = selectors.DefaultSelector()
    if kind == socket.SOCK_STREAM:
        with socket.create_server(("127.0.0.1", 0), backlog=_RECEIVERS) as server:
            tell.send(server.getsockname()[1])
            opened = [server.accept()[0] for _ in range(_RECEIVERS)]
    else:
        opened = [socket.socket(socket.AF_INET, kind) for _ in range(_RECEIVERS)]
        for each in opened:
            each.bind(("127.0.0.1", 0))
        tell.send([each.getsockname()[1] for each in opened])
    for each in opened:
        each.setblocking(False)
        selector.register(each, selectors.EVENT_READ)
    received = 0
    while found := selector.select(2.0):
        for key, _ in found:
            assert isinstance(key.fileobj, socket.socket)
            received += len(key.fileobj.recv(65536))
    tell.send(received // len(_MESSAGE))


def cpu_seconds() -> tuple[float, float]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime, usage.ru_stime


def measure(name: str, kind: int, joined: int) -> float:
    """Print a line; CPU-µs per message."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=receive, args=(kind, theirs))
    process.start()
    told = ours.recv()
    if kind == socket.SOCK_STREAM:
        senders = [socket.create_connection(("127.0.0.1", told)) for _ in range(_RECEIVERS)]
    else:
        senders = [socket.socket(socket.AF_INET, kind) for _ in range(_RECEIVERS)]
        for sender, port in zip(senders, told, strict=True):
            sender.connect(("127.0.0.1", port))
    data = _MESSAGE * joined
    user, system = cpu_seconds()
    for _ in range(_ROUNDS // joined):
        for sender in senders:
            sender.send(data)
        time.sleep(0.05)
    used = [after - before for after, before in zip(cpu_seconds(), (user, system), strict=True)]
    sent = _ROUNDS * _RECEIVERS
    arrived = ours.recv()
    process.join()
    for sender in senders:
        sender.close()
    cost = sum(used) / sent * 1e6
    print(
        f"{name:22} {cost:6.2f} CPU-µs ({used[0] / sent * 1e6:.2f} user, "
        f"{used[1] / sent * 1e6:.2f} system), {arrived / sent:7.2%} arrived"
    )
    return cost


def main() -> None:
    size, kernel = len(_MESSAGE), os.uname().release
    print(f"{_RECEIVERS} receivers, {_ROUNDS} messages of {size} bytes each, Linux {kernel}")
    one = measure("TCP, one per write", socket.SOCK_STREAM, 1)
    ten = measure("TCP, ten per write", socket.SOCK_STREAM, _JOINED)
    udp = measure("UDP, one per datagram", socket.SOCK_DGRAM, 1)
    print(f"UDP to TCP: {udp / one:.2f}x one per write, {udp / ten:.2f}x ten per write")


if __name__ == "__main__":
    main()
