"""What the checkpoint of a query tells of its batches, read as Spark has written it."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafkaesque.pipelines.batches import Batch, Checkpoint
from kafkaesque.types import TopicPartition

pytestmark = pytest.mark.slow

PLACE = TopicPartition("ticks", 0)


def write(place: Path, number: int, watermark_ms: int, offset: int) -> None:
    head = json.dumps({"batchWatermarkMs": watermark_ms, "batchTimestampMs": 1, "conf": {}})
    for directory, text in (
        ("offsets", f'v1\n{head}\n{{"ticks": {{"0": {offset}}}}}'),
        ("commits", 'v1\n{"nextBatchWatermarkMs":0}'),
    ):
        (place / directory).mkdir(parents=True, exist_ok=True)
        (place / directory / str(number)).write_text(text)
        # Spark keeps a checksum beside each file, and temporary files that it has not renamed yet.
        (place / directory / f".{number}.tmp").write_text("")


def test_a_batch_goes_from_the_end_of_the_one_before_and_is_judged_by_its_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint = Checkpoint(spark, str(tmp_path))
    assert checkpoint.finished() == []
    write(tmp_path, 0, 0, 10)
    write(tmp_path, 1, 5000, 30)
    write(tmp_path, 2, 7000, 30)
    assert checkpoint.finished() == [0, 1, 2]
    assert checkpoint.batch(0) == Batch(0, {}, {PLACE: 10}, 0)
    assert checkpoint.batch(1) == Batch(1, {PLACE: 10}, {PLACE: 30}, 0)
    assert checkpoint.batch(2) == Batch(2, {PLACE: 30}, {PLACE: 30}, 5000)
    assert checkpoint.batch(3) is None
    (tmp_path / "offsets" / "0").unlink()
    assert checkpoint.batch(1) is None


def test_a_note_stays_with_the_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = Checkpoint(spark, str(tmp_path))
    assert checkpoint.noted("late") is None
    checkpoint.note("late", 41)
    checkpoint.note("late", 42)
    assert Checkpoint(spark, str(tmp_path)).noted("late") == 42
