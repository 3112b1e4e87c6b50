"""`python -m kafkaesque.log.compact`: one pass of compaction over sealed segments, in a process of
its own, so that the broker's event loop does not notice.

    argv    the number of an open file, the directory that it works in: see broker/compactors.py
    stdin   a Request: a line of JSON, then aborted transactions as three i64 each, then the states
            of producers as they are (producer_state.py). The pipe stays open, and its end is the
            order to stop.
    stdout  an empty line for each second that it goes on, then a Result as JSON; on stderr, with
            exit code 1, why there is none.

It reads the segments of one partition and writes `.cleaned` ones beside them, synced. It changes
nothing that anybody reads: the broker puts them in their place (swap.py), or removes them. The
same `compact` runs within the broker's process where the files are not the operating system's.
Above: broker/cleaner.py. Below: compaction.py, cleaned.py, producer_state.py.
"""

import json
import os
import select
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import BinaryIO, TypeVar

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.cleaned import CleanedSegments
from kafkaesque.log.compaction import Batch, Compaction, Figures, Rules
from kafkaesque.log.config import LogConfig
from kafkaesque.log.files import Files, OsFiles
from kafkaesque.log.producer_state import split
from kafkaesque.log.segment_files import LOG
from kafkaesque.log.store import Cleaned
from kafkaesque.records.batch import HEADER_SIZE, read_header

T = TypeVar("T")

_READ_BYTES = 1 << 20
_STDIN = 0
_SIGN_OF_LIFE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Request:
    directory: str
    segments: tuple[tuple[int, int, int], ...]
    """Base offset, next offset and size of each, from the log's first on."""
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    rules: Rules

    def parts(self) -> Iterator[bytes]:
        """What the child reads, in parts made one by one: producers and aborted transactions can
        be many.
        """
        yield self.line()
        yield from self.rules.aborted
        for states in _thousands(self.rules.producers.values()):
            yield b"".join(states)

    def line(self) -> bytes:
        few = replace(self.rules, aborted=(), producers={})
        plain = asdict(replace(self, rules=few))
        plain["aborted_bytes"] = sum(map(len, self.rules.aborted))
        plain["producer_bytes"] = sum(map(len, self.rules.producers.values()))
        return json.dumps(plain, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def read(cls, stream: BinaryIO) -> "Request":
        fields = json.loads(stream.readline())
        rules = fields["rules"]
        aborted = _read(stream, fields.pop("aborted_bytes"))
        rules["aborted"] = [aborted]
        rules["producers"] = dict(split(_read(stream, fields.pop("producer_bytes"))))
        # JSON knows no tuples.
        fields["segments"] = tuple(tuple(each) for each in fields["segments"])
        return cls(**{**fields, "rules": Rules(**rules)})


def _thousands(items: Iterable[T]) -> Iterator[list[T]]:
    left = iter(items)
    while some := list(islice(left, 1000)):
        yield some


def _read(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the request ends too early")
    return data


@dataclass(frozen=True, slots=True)
class Result:
    cleaned_to: int
    """The offset up to which the log is compacted once all of it is swapped in."""
    segments: tuple[Cleaned, ...]
    """In the order in which they must be swapped in. What is not changed has none."""
    ended_aborts: tuple[int, ...]
    figures: Figures

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> "Result":
        fields = json.loads(data)
        return cls(
            cleaned_to=fields["cleaned_to"],
            segments=tuple(Cleaned(**each) for each in fields["segments"]),
            ended_aborts=tuple(fields["ended_aborts"]),
            figures=Figures(**fields["figures"]),
        )


class FileSource:
    """A sealed segment, read from its start to its end."""

    def __init__(
        self, files: Files, directory: str, base_offset: int, next_offset: int, size: int
    ) -> None:
        self.base_offset = base_offset
        self.next_offset = next_offset
        self._files = files
        self._path = f"{directory}/{base_offset:020d}{LOG}"
        self._size = size

    def batches(self) -> Iterator[Batch]:
        file = self._files.open(self._path)
        position, wanted = 0, _READ_BYTES
        while position < self._size:
            data = file.pread(min(wanted, self._size - position), position)
            at, wanted = 0, _READ_BYTES
            while at + HEADER_SIZE <= len(data):
                header = read_header(data, at)
                if at + header.size > len(data):
                    wanted = max(header.size, _READ_BYTES)
                    break
                yield data, at, header
                at += header.size
            if at == 0 and (wanted == _READ_BYTES or position + wanted > self._size):
                message = f"{self._path}: no whole batch at byte {position}"
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
            position += at


def compact(files: Files, request: Request) -> Generator[None, None, Result]:
    """A pass, in steps of a batch: whoever takes them may do something else in between."""
    directory = request.directory
    sources = [FileSource(files, directory, *segment) for segment in request.segments]
    config = LogConfig(
        segment_bytes=request.segment_bytes,
        segment_index_bytes=request.segment_index_bytes,
        index_interval_bytes=request.index_interval_bytes,
    )
    compaction = Compaction(request.rules, sources)
    yield from compaction.map_keys()
    output = CleanedSegments(files, directory, config)
    for source in compaction.to_clean:
        output.begin(source.base_offset, source.next_offset)
        for kept in compaction.clean(source):
            if kept is not None:
                output.append(kept)
            yield
        output.end(compaction.is_changed, compaction.end_mark)
    return Result(
        compaction.mapped_end,
        tuple(output.finish()),
        tuple(compaction.ended_aborts),
        compaction.figures,
    )


def run(steps: Generator[None, None, Result], between: Callable[[], None]) -> Result:
    """Take all steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        between()


def _beside_the_broker() -> Callable[[], None]:
    """Between two steps. Only the broker holds the other end of our standard input: we end with it.
    And it wants to know whether we go on, or hang at the disk.
    """
    pipe = select.poll()
    pipe.register(_STDIN, select.POLLIN | select.POLLHUP)
    said_at = os.times().elapsed

    def look() -> None:
        nonlocal said_at
        if pipe.poll(0):
            sys.exit(1)
        if os.times().elapsed > said_at + _SIGN_OF_LIFE_SECONDS:
            said_at = os.times().elapsed
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()

    return look


def main() -> None:
    if len(sys.argv) > 1:
        directory, niceness = map(int, sys.argv[1:])
        os.fchdir(directory)
        # SCHED_IDLE would be kinder in name, and triples the broker's p99: the kernel takes a core
        # that such a process runs on for a free one.
        os.nice(niceness)
    try:
        request = Request.read(sys.stdin.buffer)
        result = run(compact(OsFiles(), request), _beside_the_broker())
    except (KafkaError, OSError, EOFError) as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(result.to_json())


if __name__ == "__main__":
    main()
