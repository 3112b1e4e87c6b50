"""What a transactional copy must look like to a read_committed reader: a pure check.

A copy says of which input partition and offset it is, and whether the transaction that it is in is
*doomed*: going to be aborted on purpose. Input partition n is copied to output partition n, so that
each output partition is its input again: every record once, in order, and none of a doomed
transaction. A value: `<offset> <doomed|kept> <original>`.
Above: copy_scene.py reads, copier.py and its Java twin write.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Copy(NamedTuple):
    offset: int
    is_doomed: bool
    original: str


def copy_value(offset: int, is_doomed: bool, original: bytes) -> bytes:
    return b"%d %s %s" % (offset, b"doomed" if is_doomed else b"kept", original)


def copy_of(value: bytes) -> Copy:
    offset, state, original = value.decode().split(" ", 2)
    return Copy(int(offset), state == "doomed", original)


class Transcript:
    """All copies that came to a reader, judged as they come."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._copies: dict[int, list[str]] = defaultdict(list)

    def __len__(self) -> int:
        return sum(map(len, self._copies.values()))

    def note(self, partition: int, copy: Copy) -> None:
        if copy.is_doomed:
            self.problems.append(f"partition {partition}: {copy} was aborted, and is read")
            return
        expected = len(self._copies[partition])
        if copy.offset != expected:
            what = "again" if copy.offset < expected else f"where that of {expected} is due"
            self.problems.append(f"partition {partition}: the copy of {copy.offset} comes {what}")
        self._copies[partition].append(copy.original)

    def broken(self, originals: Mapping[int, Sequence[str]]) -> list[str]:
        """What is not as it should be when everything has been copied: `originals` by partition."""
        return [
            *self.problems,
            *(
                f"partition {partition}: {len(self._copies[partition])} copies, which are not"
                f" those of the {len(values)} originals"
                for partition, values in originals.items()
                if self._copies[partition] != list(values)
            ),
        ]
