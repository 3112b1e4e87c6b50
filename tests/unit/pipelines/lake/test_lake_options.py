"""What the lake is asked for, and where topics go in it."""

import json
from pathlib import Path

import pytest
from tests.lake_rows import Lake, ticks

from kafkaesque.pipelines.lake.beginning import after_marks
from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.lake.options import read_options, write_options
from kafkaesque.pipelines.lake.warehouse import (
    Warehouse,
    identifier,
    require_topic,
    table_name,
    topic_properties,
)
from kafkaesque.pipelines.marks import MarkColumns

PLACE = {"table": "lake.ticks", "warehouse": "/data"}


def test_options_are_taken_as_spark_gives_them() -> None:
    more = {"markcolumn": "offset", "markby": "topic, partition", "catalog.type": "rest"}
    found = write_options({**PLACE, **more, "checkpointlocation": "/kept"})
    assert found.marks == MarkColumns("offset", ("topic", "partition"))
    assert found.warehouse == Warehouse("/data", (("type", "rest"),))
    read = read_options({**PLACE, "columns": "a, b", "snapshotid": "12"})
    assert (read.columns, read.snapshot_id, read.where) == (("a", "b"), 12, None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"table": "lake.ticks"}, "needs the option warehouse"),
        ({**PLACE, "markcolum": "a"}, "did you mean markColumn"),
        ({**PLACE, "where": "a > 1"}, "has no option where"),
        ({**PLACE, "markBy": "a"}, "but no markColumn"),
        ({**PLACE, "targetFileSize": "-1"}, "give a whole number"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(LakeError, match=words):
        write_options(given)


def test_a_topic_has_a_table_that_every_engine_can_name() -> None:
    assert table_name("stock_json_topic") == "lake.stock_json_topic"
    assert table_name("orders.eu-west", "cold") == "cold.orders_eu_west"
    with pytest.raises(LakeError, match=r"as in lake\.ticks"):
        identifier("ticks")


def test_two_topics_never_share_a_table(tmp_path: Path) -> None:
    warehouse = Warehouse.of(str(tmp_path))
    properties = topic_properties("a.b", "1")
    table = warehouse.ensured("lake.a_b", ticks(0, 1).schema, properties)
    require_topic(table, "a.b", "1")
    require_topic(table, "a.b", None)
    with pytest.raises(LakeError, match=r"holds the topic a\.b, and a-b would be called so too"):
        require_topic(table, "a-b", "1")
    with pytest.raises(LakeError, match=r"holds a topic a\.b that was deleted"):
        require_topic(table, "a.b", "2")


def test_a_topic_of_a_cluster_without_ids_is_known_by_its_name(tmp_path: Path) -> None:
    properties = topic_properties("a", None)
    table = Warehouse.of(str(tmp_path)).ensured("lake.a", ticks(0, 1).schema, properties)
    require_topic(table, "a", "1")
    with pytest.raises(LakeError, match="holds the topic a"):
        require_topic(table, "b", "1")


def test_a_place_elsewhere_needs_a_catalog() -> None:
    with pytest.raises(LakeError, match=r"give catalog\.type and catalog\.uri"):
        Warehouse.of("s3://bucket/lake").catalog()


def test_a_catalog_of_another_kind_is_used(tmp_path: Path) -> None:
    settings = {"type": "sql", "uri": f"sqlite:///{tmp_path}/mine.db", "name": "mine"}
    warehouse = Warehouse.of(str(tmp_path / "lake"), settings)
    warehouse.ensured("a.b", ticks(0, 1).schema, {})
    assert warehouse.names() == ["a.b"]
    assert (tmp_path / "mine.db").is_file()
    assert not (tmp_path / "lake" / "catalog.db").exists()


def test_a_catalog_that_is_no_database_is_named(tmp_path: Path) -> None:
    Lake(tmp_path).write(ticks(0, 1))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "catalog.db").mkdir()
    with pytest.raises(LakeError, match="for its catalog says 'unable to open database file'"):
        Warehouse.of(str(tmp_path / "other")).names()


def test_a_topic_goes_on_behind_the_marks() -> None:
    assert json.loads(after_marks("t", [2, 0, 1], {"0": 9, "2": 0, "7": 5})) == {
        "t": {"0": 10, "1": -2, "2": 1}
    }
