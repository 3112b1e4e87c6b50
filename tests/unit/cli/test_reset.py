"""Emptying a data directory: what is deleted, and what never is."""

from pathlib import Path

import pytest

from kafkaesque.cli.output import CommandError
from kafkaesque.cli.up.reset import delete_all
from kafkaesque.errors import StartError
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import OsFiles


def make_data(path: Path) -> None:
    DataDirectory.open(OsFiles(), str(path)).close(clean=True)
    (path / "orders-0").mkdir()
    (path / "orders-0" / "00000000000000000000.log").write_bytes(b"records")


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def test_everything_goes_and_the_directory_is_as_good_as_new(tmp_path: Path) -> None:
    make_data(tmp_path)
    delete_all(tmp_path)
    assert names(tmp_path) == {".lock"}
    directory = DataDirectory.open(OsFiles(), str(tmp_path))
    assert directory.partitions() == {}
    directory.close(clean=True)


def test_a_directory_that_is_empty_or_not_there_is_left_so(tmp_path: Path) -> None:
    delete_all(tmp_path)
    delete_all(tmp_path / "missing")
    assert names(tmp_path) == set()


def test_it_can_be_emptied_twice(tmp_path: Path) -> None:
    make_data(tmp_path)
    delete_all(tmp_path)
    delete_all(tmp_path)
    assert names(tmp_path) == {".lock"}


@pytest.mark.parametrize("name", ["notes.txt", ".profile", "orders-0"])
def test_a_directory_without_meta_properties_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")
    with pytest.raises(CommandError, match="--data-dir"):
        delete_all(tmp_path)
    assert names(tmp_path) == {name}


def test_a_directory_of_apache_kafka_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    (tmp_path / "orders-0").mkdir()
    with pytest.raises(StartError, match="belongs to Apache Kafka"):
        delete_all(tmp_path)
    assert {"meta.properties", "orders-0"} <= names(tmp_path)


def test_a_directory_that_a_broker_holds_is_refused(tmp_path: Path) -> None:
    make_data(tmp_path)
    held = DataDirectory.open(OsFiles(), str(tmp_path))
    with pytest.raises(StartError, match="in use"):
        delete_all(tmp_path)
    held.close(clean=True)
    assert "orders-0" in names(tmp_path)


def test_what_a_link_points_to_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes.txt").write_text("precious")
    make_data(tmp_path / "data")
    (tmp_path / "data" / "link-0").symlink_to(tmp_path / "elsewhere")
    delete_all(tmp_path / "data")
    assert names(tmp_path / "data") == {".lock"}
    assert names(tmp_path / "elsewhere") == {"notes.txt"}
