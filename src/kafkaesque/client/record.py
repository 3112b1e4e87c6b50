"""One record as commands read and write it: writer.py sends it, reader.py yields it."""

from dataclasses import dataclass
from typing import TypeAlias

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

UNKNOWN = -1
"""A partition or an offset that the cluster is to choose, or has not told."""


@dataclass(frozen=True, slots=True)
class Record:
    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int = UNKNOWN
    offset: int = UNKNOWN
    timestamp_ms: int | None = None
