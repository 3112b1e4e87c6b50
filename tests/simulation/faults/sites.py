"""Which file call this is: what is done, to which family of files, from where, and meanwhile what.

The call site is the innermost functions of kafkaesque, by file and name: not by line, so that a
table of sites stays the same when code moves.
"""

import re
from dataclasses import dataclass
from types import FrameType

_DEPTH = 3
_SEAM = "kafkaesque.log.files"
_STATE_LOGS = ("__cluster_metadata-0", "__consumer_offsets-0", "__transaction_state-0")
_ENDINGS = {
    ".log": "log",
    ".index": "index",
    ".timeindex": "timeindex",
    ".producers": "producer snapshot",
    "partition.metadata": "partition.metadata",
}
_SEGMENT = re.compile(r"\d{20}")


@dataclass(frozen=True, slots=True, order=True)
class Site:
    family: str
    operation: str
    where: str
    state: str

    def __str__(self) -> str:
        return f"{self.operation} of {self.family}, {self.state}: {self.where}"


def is_called_by_the_broker(frame: FrameType) -> bool:
    return str(frame.f_globals["__name__"]).startswith("kafkaesque.")


def where(frame: FrameType) -> str:
    """The functions that led here, the innermost first."""
    names: list[str] = []
    at: FrameType | None = frame
    while at is not None and len(names) < _DEPTH:
        module = str(at.f_globals["__name__"])
        if module.startswith("kafkaesque.") and not at.f_code.co_name.startswith("<"):
            name = f"{module.removeprefix('kafkaesque.')}:{at.f_code.co_name}"
            if name not in names:
                names.append(name)
        at = at.f_back
    return " < ".join(names)


def family(path: str) -> str:
    """Of a file or a directory below /data."""
    name = path.removeprefix("/data").strip("/")
    if not name:
        return "data directory" if path.startswith("/data") else "parent directory"
    directory, _, file = name.partition("/")
    if not file and "-" in directory and directory.rpartition("-")[2].isdecimal():
        return f"directory of {_owner(directory)}"
    if directory.endswith("-delete"):
        return "-delete directory"
    if not file:
        return directory
    return f"{_kind(file)} of {_owner(directory)}"


def _owner(directory: str) -> str:
    return directory.removesuffix("-0") if directory in _STATE_LOGS else "a partition"


def _kind(file: str) -> str:
    for suffix in (".tmp", ".cleaned", ".swap"):
        if file.endswith(suffix):
            return f"{_kind(file.removesuffix(suffix))}{suffix}"
    return _ENDINGS.get(_SEGMENT.sub("", file), file)
