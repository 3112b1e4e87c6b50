"""The names that we give in a partition's directory. All others are somebody else's: left alone.

    <base offset, 20 digits>.log | .index | .timeindex      a segment's
    the same, then .cleaned or .swap                        compaction's: swap.py
    <offset, 20 digits>.producers                           a snapshot: snapshots.py
    partition.metadata                                      whose the partition is: properties.py
    the last two, then .tmp                                 being written

Above: directory.py, disk.py, swap.py, snapshots.py. Below: segment_files.py, files.py.
"""

from kafkaesque.log.files import TEMPORARY
from kafkaesque.log.segment_files import CLEANED, SUFFIXES, SWAP

CLEANED_SUFFIXES = tuple(suffix + CLEANED for suffix in SUFFIXES)
SWAP_SUFFIXES = tuple(suffix + SWAP for suffix in SUFFIXES)
SNAPSHOT = ".producers"
METADATA = "partition.metadata"

_DIGITS = 20
_MOST_OFFSETS = 1 << 63


def stem(name: str, *suffixes: str) -> str | None:
    """The 20 digits of an offset, before one of these suffixes. None: another name."""
    digits, suffix = name[:_DIGITS], name[_DIGITS:]
    if suffix not in suffixes or not (digits.isascii() and digits.isdecimal()):
        return None
    return digits if int(digits) < _MOST_OFFSETS else None


def is_unfinished(name: str) -> bool:
    """Whether it is a file that takes its place when it is whole."""
    return name == METADATA + TEMPORARY or stem(name, SNAPSHOT + TEMPORARY) is not None


def is_ours(name: str) -> bool:
    suffixes = (*SUFFIXES, *CLEANED_SUFFIXES, *SWAP_SUFFIXES, SNAPSHOT)
    return name == METADATA or is_unfinished(name) or stem(name, *suffixes) is not None
