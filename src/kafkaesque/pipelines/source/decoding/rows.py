"""Rows of the declared type, and why some of them are null. Above: every reader of a form."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns.cursor import Longs
from kafkaesque.client.columns.scalars import array_of


@dataclass(frozen=True, slots=True)
class Rows:
    """One for each value. A refused one is null, and its place has a reason."""

    array: pa.StructArray
    reasons: dict[int, str] = field(default_factory=dict)


class Reader(Protocol):
    def read(self, values: pa.BinaryArray) -> Rows: ...


def refused(count: int, kind: pa.StructType, reason: str) -> Rows:
    return Rows(pa.nulls(count, kind), dict.fromkeys(range(count), reason))


def joined(parts: Sequence[Rows]) -> Rows:
    """One after the other."""
    reasons: dict[int, str] = {}
    begin = 0
    for part in parts:
        reasons |= {begin + place: reason for place, reason in part.reasons.items()}
        begin += len(part.array)
    return Rows(pa.concat_arrays([part.array for part in parts]), reasons)


def spread(parts: Sequence[tuple[Longs, Rows]], count: int) -> Rows:
    """Each part's rows to the places that are theirs; null where nobody's are."""
    order = np.zeros(count, np.int32)
    missing = np.ones(count, np.bool_)
    reasons: dict[int, str] = {}
    begin = 0
    for places, rows in parts:
        order[places] = np.arange(begin, begin + len(places), dtype=np.int32)
        missing[places] = False
        reasons |= {int(places[place]): reason for place, reason in rows.reasons.items()}
        begin += len(places)
    whole = pa.concat_arrays([rows.array for _, rows in parts])
    return Rows(whole.take(array_of(pa.int32(), order, missing)), reasons)
