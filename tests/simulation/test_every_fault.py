"""One fault at each file call of a broker, in each of its states: see the package faults."""

import inspect

import pytest
from tests.simulation.faults.table import Row, rows, run, sample, sites, summary
from tests.tiers import few

from kafkaesque.log.files import File, Files

_BATCHES = 8
_STATES = {"first start", "start", "recovery", "serving", "stopping"}
_STATE_LOGS = ("__cluster_metadata", "__consumer_offsets", "__transaction_state")
_OF_PARTITIONS = ("directory", "log", "index", "timeindex", "partition.metadata")
_OF_CHECKPOINTS = ("producer snapshot", "producer snapshot.tmp")
_OF_COMPACTION = tuple(
    f"{file}.{ending}" for file in ("log", "index", "timeindex") for ending in ("cleaned", "swap")
)
_FAMILIES = {
    "parent directory",
    "data directory",
    ".lock",
    "-delete directory",
    *(
        name + ending
        for name in (
            ".kafka_cleanshutdown",
            "meta.properties",
            "recovery-point-offset-checkpoint",
            "log-start-offset-checkpoint",
            "cleaner-offset-checkpoint",
        )
        for ending in ("", ".tmp")
    ),
    *(
        f"{file} of {owner}"
        for owner in ("a partition", *_STATE_LOGS)
        for file in (*_OF_PARTITIONS, *_OF_CHECKPOINTS)
    ),
    *(
        f"{file} of {owner}"
        for owner in ("a partition", "__consumer_offsets", "__transaction_state")
        for file in _OF_COMPACTION
    ),
}


@pytest.mark.parametrize("batch", few(range(_BATCHES), 1))
def test_a_fault_at_any_file_call_breaks_no_promise(batch: int) -> None:
    results = [run(row) for row in sample(rows())[batch::_BATCHES]]
    failures = {str(row): failure for row, failure in results if failure}
    assert failures == {}, summary(results)


def test_every_method_of_the_seam_meets_a_fault() -> None:
    methods = {
        f"{seam.__name__}.{name}"
        for seam in (Files, File)
        for name, _ in inspect.getmembers(seam, inspect.isfunction)
        if not name.startswith("_")
    }
    operations = {site.operation.partition(" ")[0] for site in sites()}
    assert operations == methods


def test_every_family_of_files_meets_a_fault() -> None:
    """A file that is not named above needs a line there, and a day that uses it."""
    families = {site.family for site in sites()}
    assert families == _FAMILIES


def test_every_state_of_the_broker_meets_a_fault() -> None:
    assert {site.state for site in sites()} == _STATES


def test_the_sample_leaves_out_no_family_operation_state_or_fault() -> None:
    def parts(of: list[Row]) -> set[tuple[str, ...]]:
        on_families = {(row.site.family, row.site.operation) for row in of}
        return {*on_families, *((row.site.operation, row.site.state, row.kind) for row in of)}

    assert parts(sample(rows())) == parts(rows())
