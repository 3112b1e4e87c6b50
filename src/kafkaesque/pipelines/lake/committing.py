"""Staged files become rows of a table, and the marks move with them: one commit, or nothing.

    table properties    kafkaesque.written[.<writer>] = {"query": …, "batch": …, "marks": {…}}
    snapshot            kafkaesque.query, kafkaesque.batch: for people who look

A batch that the marks know already is a replay (without marks, one whose number is known): its
files are thrown away, and of a file that is partly known only the new rows are taken. Whoever
commits does so on top of the table as it was looked at: if somebody else was quicker, it is looked
at anew, so that two writers of the same rows write them once. Footers came with the files, so no
file is opened here (but one that is partly known).
Above: writer.py, compaction.py. Below: files.py, schemas.py, pyiceberg.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from kafkaesque.pipelines.lake.errors import LakeError, explained
from kafkaesque.pipelines.lake.files import Place, Staged, read, remove, write
from kafkaesque.pipelines.lake.options import WriteOptions
from kafkaesque.pipelines.lake.schemas import evolve
from kafkaesque.pipelines.marks import Written, unwritten

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

WRITTEN: Final = "kafkaesque.written"
TRIES = 20
_FIRST_WAIT_S, _MOST_WAIT_S = 0.05, 2.0

T = TypeVar("T")


def written_property(writer: str = "") -> str:
    return f"{WRITTEN}.{writer}" if writer else WRITTEN


def written_of(table: "Table", writer: str = "") -> Written:
    """What a writer has written to the table."""
    text = table.properties.get(written_property(writer))
    return Written() if text is None else Written.of_json(text)


def commit(
    options: WriteOptions,
    frame: pa.Schema,
    place: Place,
    staged: Sequence[Staged],
    query: str,
    batch: int,
) -> int:
    """The rows that were new. `place` is where the files were written, as they were."""

    def attempt(table: "Table") -> int:
        nonlocal staged
        written = written_of(table, options.writer)
        if options.marks is None and written.has(query, batch):
            remove((each.path for each in staged), place)
            return 0
        staged = [fresh for each in staged for fresh in _fresh(each, place, written)]
        if staged:
            _append(
                table, options, frame, place, staged, written.after(query, batch, _marks(staged))
            )
        return sum(each.rows for each in staged)

    if not staged:
        return 0
    return on_top(lambda: options.warehouse.table(options.table), attempt, options.table)


def on_top(load: "Callable[[], Table]", attempt: "Callable[[Table], T]", name: str) -> T:
    """Try on the table as it is, until nobody else was quicker."""
    from pyiceberg.exceptions import CommitFailedException

    for number in range(TRIES):
        table = load()
        # pyiceberg would try again by itself, without a look at the marks that have moved.
        table.metadata.properties["commit.retry.num-retries"] = "0"
        try:
            with explained(f"commit to {name}"):
                return attempt(table)
        except CommitFailedException:
            time.sleep(random.uniform(0.5, 1) * min(_FIRST_WAIT_S * 2**number, _MOST_WAIT_S))
    raise LakeError(
        f"{name} was changed by others {TRIES} times while this tried to commit: "
        "are there two archives of one topic, or many at once? End all but one"
    )


def data_file(metadata: "TableMetadata", staged: Staged) -> "DataFile":
    """As a manifest has it, with the statistics by which readers leave files out."""
    from pyiceberg.io.pyarrow import (
        compute_statistics_plan,
        data_file_statistics_from_parquet_metadata,
        parquet_path_to_id_mapping,
    )
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    schema = metadata.schema()
    statistics = data_file_statistics_from_parquet_metadata(
        staged.footer,
        compute_statistics_plan(schema, metadata.properties),
        parquet_path_to_id_mapping(schema),
    )
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=staged.path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        file_size_in_bytes=staged.size_bytes,
        sort_order_id=None,
        spec_id=metadata.default_spec_id,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )


def _append(
    table: "Table",
    options: WriteOptions,
    frame: pa.Schema,
    place: Place,
    staged: Sequence[Staged],
    written: Written,
) -> None:
    transaction = table.transaction()
    if not evolve(transaction, options.table, frame).equals(place.schema, check_metadata=True):
        raise LakeError(
            f"the columns of {options.table} were changed while a batch was written: start the "
            "query again, and the batch is written anew"
        )
    told = {"kafkaesque.query": written.query, "kafkaesque.batch": str(written.batch)}
    with transaction.update_snapshot(snapshot_properties=told).merge_append() as append:
        for each in staged:
            append.append_data_file(data_file(transaction.table_metadata, each))
    transaction.set_properties({written_property(options.writer): written.to_json()})
    transaction.commit_transaction()


def _fresh(staged: Staged, place: Place, written: Written) -> Iterator[Staged]:
    """The file, or one with those of its rows that are not written yet, or none."""
    marks = written.marks
    if all(least > marks.get(name, least - 1) for name, least in staged.lowest.items()):
        yield staged
        return
    if place.marks is not None and any(
        most > marks.get(name, most - 1) for name, most in staged.highest.items()
    ):
        columns = place.marks
        rows = (unwritten(piece, columns, marks) for piece in read(staged.path, place))
        yield from write(rows, replace(place, target_bytes=1 << 62))
    remove([staged.path], place)


def _marks(staged: Sequence[Staged]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in staged:
        for name, mark in each.highest.items():
            found[name] = max(mark, found.get(name, mark))
    return found
