"""What Spark starts for its Python: asks the server for a process, and lives as long as that does.

    python -I -S asking.py SOCKET -m pyspark.daemon pyspark.worker

The process has this one's input, output, environment and directory. If this one is killed, the
server ends the other. A server that is not there, or refuses, makes this one the Python that Spark
meant.

    to the server     int32 length of the JSON, with the descriptors 0, 1, 2 | JSON of a Request
    from the server   FORKED | when the process has ended, int32 exit code
                      REFUSED

It is a script, without site-packages, so that it starts quickly: standard library alone.
Above: the script of forks.py, server.py.
"""

import json
import os
import socket
import struct
import sys
from typing import Final, NamedTuple

FORKED: Final = b"+"
REFUSED: Final = b"-"

_NUMBER = struct.Struct(">i")
_STANDARD = (0, 1, 2)


class Request(NamedTuple):
    """`arguments` are those of Python: -m, the module, and its own."""

    arguments: list[str]
    environ: dict[str, str]
    directory: str


def main(path: str, *arguments: str) -> int:
    code = forked(path, Request(list(arguments), dict(os.environ), os.getcwd()))
    if code is None:
        os.execv(sys.executable, [sys.executable, *arguments])
    # As a shell tells of a process that a signal has ended.
    return 128 - code if code < 0 else code


def forked(path: str, request: Request) -> int | None:
    """How the process ended; None if there was none."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            told = json.dumps(request).encode()
            socket.send_fds(connection, [_NUMBER.pack(len(told))], _STANDARD)
            connection.sendall(told)
            if connection.recv(1) != FORKED:
                return None
        except OSError:
            return None
        try:
            return int(_NUMBER.unpack(_received(connection, _NUMBER.size))[0])
        except (OSError, ValueError):
            # A server that was killed leaves its processes to themselves: they end with the JVM.
            return 1


def received(connection: socket.socket) -> tuple[Request, list[int]]:
    """A request, and what are to be its descriptors 0, 1 and 2. Raises OSError, or TypeError or
    ValueError for what is none."""
    length, descriptors, _, _ = socket.recv_fds(connection, _NUMBER.size, len(_STANDARD))
    try:
        if len(length) < _NUMBER.size or len(descriptors) < len(_STANDARD):
            raise ValueError("this is no request")
        told = _received(connection, _NUMBER.unpack(length)[0])
        return Request(*json.loads(told)), descriptors
    except BaseException:
        for each in descriptors:
            os.close(each)
        raise


def exit_code(code: int) -> bytes:
    return _NUMBER.pack(code)


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (more := connection.recv(size - len(data))):
            raise ValueError("the other side has ended")
        data += more
    return data


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
