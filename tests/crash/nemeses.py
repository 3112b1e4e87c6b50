"""What befalls a broker while its clients go on: it is stopped for a while, or killed.

Zombies and delayed requests come from the clients themselves: see raw_clients.py.
Above: play.py.
"""

import os
import random
import signal
import time
from collections.abc import Callable

from tests.compat.peer import Peer

Nemesis = Callable[[Peer, random.Random], None]


def pause(peer: Peer, rng: random.Random) -> None:
    """SIGSTOP, and on: to its clients it hangs, and what it is told meanwhile comes all at once."""
    os.kill(peer.pid, signal.SIGSTOP)
    time.sleep(rng.uniform(0.1, 1.0))
    os.kill(peer.pid, signal.SIGCONT)


def kill(peer: Peer, rng: random.Random) -> None:
    """SIGKILL, and a new life on the same data."""
    peer.kill()
    time.sleep(rng.uniform(0, 0.2))
    peer.start()
