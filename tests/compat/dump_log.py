"""Kafka's own kafka-dump-log as a judge of segment files: run it, and read what it says.

`faults` are the lines with which the tool complains: a bad CRC, invalid bytes at the end, an index
that does not match its log, offsets with holes, records that a decoder cannot read. Above:
test_dump_log.py. Below: tools.py.
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.compat import tools

BATCH = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) .* position: (\d+) .*"
    r" compresscodec: (\w+) .* isvalid: (\w+)"
)
RECORD = re.compile(
    r"^\| offset: (\d+) .*? sequence: (-?\d+) headerKeys: \[(.*?)\]"
    r"(?: key: (.*?))?(?: payload: (.*))?$"
)
INDEX_ENTRY = re.compile(r"^offset: (\d+) position: (\d+)$")
TIME_INDEX_ENTRY = re.compile(r"^timestamp: (\d+) offset: (\d+)$")
COMPLAINT = re.compile(
    r"isvalid: false|invalid bytes|corrupt|mismatch|out of order|non-consecutive|is followed by"
    r"|exception|^error|could not|skipping",
    re.IGNORECASE,
)
# Of a segment that does not start at offset 0 the tool always says this: it begins with -1.
HARMLESS = re.compile(r"Non-consecutive offsets in \S+\n\s+-1 is followed by \d+\n")


@dataclass(frozen=True, slots=True)
class Batch:
    """A `baseOffset: …` line."""

    base_offset: int
    last_offset: int
    count: int
    position: int
    codec: str


@dataclass(frozen=True, slots=True)
class Record:
    """A `| offset: …` line; key and payload as the tool prints them, decoded if asked for."""

    offset: int
    sequence: int
    header_keys: str
    key: str | None
    payload: str | None


@dataclass(frozen=True, slots=True)
class Dump:
    """All that the tool said about some files, and its complaints apart."""

    batches: list[Batch]
    records: list[Record]
    index_entries: list[tuple[int, int]]
    time_index_entries: list[tuple[int, int]]
    faults: list[str]


def dump(files: Iterable[Path], *flags: str) -> Dump:
    paths = ",".join(str(path) for path in sorted(files))
    command = tools.java("org.apache.kafka.tools.DumpLogSegments", "--files", paths, *flags)
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"kafka-dump-log ended with {finished.returncode}: {finished.stderr}")
    return read(finished.stdout, finished.stderr)


def read(stdout: str, stderr: str) -> Dump:
    lines = stdout.splitlines()
    said = [line for line in lines if not line.startswith("|") or "isvalid" in line]
    complaints = [*said, *HARMLESS.sub("", stderr).splitlines()]
    return Dump(
        batches=[
            Batch(int(found[1]), int(found[2]), int(found[3]), int(found[4]), found[5])
            for found in map(BATCH.match, lines)
            if found
        ],
        records=[
            Record(int(found[1]), int(found[2]), found[3], found[4], found[5])
            for found in map(RECORD.match, lines)
            if found
        ],
        index_entries=_pairs(INDEX_ENTRY, lines),
        time_index_entries=_pairs(TIME_INDEX_ENTRY, lines),
        faults=[line for line in complaints if COMPLAINT.search(line)],
    )


def _pairs(pattern: re.Pattern[str], lines: list[str]) -> list[tuple[int, int]]:
    return [(int(found[1]), int(found[2])) for found in map(pattern.match, lines) if found]
