"""A thousand connections that do nothing: the memory of each, and the round trip beside them.

Each has asked for the API versions, as every client does first; so the broker has taken it up. The
broker is a fresh one: one that has been busy has memory to spare, which would hide what they take.
"""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks import drive
from benchmarks.figures.figure import Figure, Measured, Start, percentiles
from benchmarks.process import resident_mb
from benchmarks.subject import Subject

CONNECTIONS = 1000
TRIPS = 1500
API_VERSIONS_V0 = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def measure(subject: Subject) -> Iterator[Measured]:
    count = subject.scaled(TRIPS)
    with subject.running(), subject.topic() as topic, ExitStack() as connections:
        drive.round_trips_ms(subject.bootstrap, topic, 0, count)
        memory, start = resident_mb(subject.broker.pid), time.perf_counter()
        for _ in range(CONNECTIONS):
            connections.enter_context(_connection(subject.bootstrap))
        rate = CONNECTIONS / (time.perf_counter() - start)
        times = drive.round_trips_ms(subject.bootstrap, topic, count, count)
        grown = resident_mb(subject.broker.pid) - memory
    yield Measured("new connections", "per s", rate)
    yield Measured("memory for 1,000 connections", "MB", grown)
    yield from percentiles("round trip beside 1,000 connections", times, 50, 99)


def _connection(bootstrap: str) -> socket.socket:
    host, port = bootstrap.split(":")
    connection = socket.create_connection((host, int(port)), timeout=30)
    connection.sendall(API_VERSIONS_V0)
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    connection.recv(size, socket.MSG_WAITALL)
    return connection


CONNECTIONS_FIGURE = Figure(
    "connections",
    "1,000 connections are opened one after the other, each asks for the API versions, and then "
    "they do nothing: the memory that a fresh broker has grown by, and the round trip of one "
    "client beside them. As many round trips before that are not measured.",
    measure,
    start=Start.OWN,
)
