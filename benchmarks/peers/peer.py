"""What a benchmark needs to know about a broker: how to make one, and what its topics may promise.

A peer is one file beside this one: a `Peer` with a function that makes a `Broker` on a directory,
which is neither there nor started yet; it is what the tests of compatibility call a peer. Its
variants differ in settings of topics alone, so that one process serves them all. Above: roster.py,
the list of peers. Below: loop_delay.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from benchmarks.peers.loop_delay import LoopDelay
from tests.compat.peer import Peer as Broker

__all__ = ["Broker", "Kind", "Peer", "Variant"]


class Kind(Enum):
    DEFAULT = "as it comes"
    CACHED = "acknowledges from the page cache"
    SYNCED = "syncs before it acknowledges"


@dataclass(frozen=True, slots=True)
class Variant:
    """A peer whose topics have some settings; `name` is the head of its column."""

    name: str
    kind: Kind
    meaning: str
    topic_settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peer:
    """`loop_delay` reads how late a started broker's event loop has been, where it tells."""

    name: str
    make: Callable[[Path], Broker]
    versions: Callable[[], Mapping[str, str]]
    variants: tuple[Variant, ...]
    loop_delay: Callable[[Broker], LoopDelay] | None = None
