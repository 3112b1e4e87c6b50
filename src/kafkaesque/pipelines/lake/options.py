"""What a user of `format("kafkaesque_lake")` asks for, checked.

    table           lake.ticks: namespace and name
    warehouse       a directory, or an address with a catalog that knows it
    catalog.…       pyiceberg's settings of a catalog, as in catalog.type and catalog.uri
  to write:
    markColumn, markBy     the column that rises, and those that make a group (marks.py)
    writerId               whose marks these are, where several queries write to one table
    targetFileSize         in bytes: larger files are begun anew
  to read:
    where           an expression of pyiceberg's, as in: partition = 0 and offset >= 100
    columns         offset,value            snapshotId      as it was then

Whatever else is given is refused. Above: writer.py, reader.py. Below: warehouse.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.lake.files import TARGET_BYTES
from kafkaesque.pipelines.lake.warehouse import Warehouse
from kafkaesque.pipelines.marks import MarkColumns

CATALOG: Final = "catalog."
_EITHER = ("table", "warehouse")
_WRITE = ("markColumn", "markBy", "writerId", "targetFileSize")
_READ = ("where", "columns", "snapshotId")
# Spark's own, which it hands on to every sink.
_SPARKS = ("checkpointLocation", "queryName")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    warehouse: Warehouse
    table: str
    marks: MarkColumns | None = None
    writer: str = ""
    target_bytes: int = TARGET_BYTES


@dataclass(frozen=True, slots=True)
class ReadOptions:
    warehouse: Warehouse
    table: str
    where: str | None = None
    columns: tuple[str, ...] = ("*",)
    snapshot_id: int | None = None


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """Raises LakeError."""
    options = _known(given, _WRITE)
    column, group = options.get("markColumn"), _names(options.get("markBy", ""))
    if group and not column:
        raise LakeError("markBy is given, but no markColumn: name the column that rises in a group")
    return WriteOptions(
        _warehouse(options),
        options["table"],
        MarkColumns(column, group) if column else None,
        options.get("writerId", ""),
        _number(options, "targetFileSize") or TARGET_BYTES,
    )


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Raises LakeError."""
    options = _known(given, _READ)
    return ReadOptions(
        _warehouse(options),
        options["table"],
        options.get("where"),
        _names(options.get("columns", "")) or ("*",),
        _number(options, "snapshotId"),
    )


def _known(given: Mapping[str, str], more: tuple[str, ...]) -> dict[str, str]:
    """By their names as they are spelled; Spark does not tell upper from lower case."""
    names = {name.lower(): name for name in (*_EITHER, *more, *_SPARKS)}
    for name in given:
        if name.lower() not in names and not name.lower().startswith(CATALOG):
            near = get_close_matches(name.lower(), names, n=1)
            hint = f"did you mean {names[near[0]]}?" if near else "leave it out"
            raise LakeError(f"the lake has no option {name}: {hint}")
    options = {names.get(name.lower(), name.lower()): text for name, text in given.items()}
    for name in _EITHER:
        if not options.get(name):
            raise LakeError(f"the lake needs the option {name}, as in lake.ticks or /data/lake")
    return options


def _warehouse(options: Mapping[str, str]) -> Warehouse:
    settings = {
        name.removeprefix(CATALOG): text
        for name, text in options.items()
        if name.startswith(CATALOG)
    }
    return Warehouse.of(options["warehouse"], settings)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise LakeError(f"{name} is {text!r}: give a whole number from 1 on")
    return int(text)
