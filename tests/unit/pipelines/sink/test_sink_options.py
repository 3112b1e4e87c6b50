"""The options of the Spark sink: what is understood, and what is refused in plain words."""

from pathlib import Path

import pytest

from kafkaesque.pipelines.marks import MarkColumns
from kafkaesque.pipelines.sink.options import appended, batch_options, located, stream_options
from kafkaesque.pipelines.source.security import OptionsError

LEAST = {"kafka.bootstrap.servers": "a:1", "topic": "out"}


def test_the_least_that_must_be_given_names_a_writer_by_its_topic() -> None:
    found = stream_options(LEAST)
    assert (found.topic, found.writer_id) == ("out", "kafkaesque-sink-out")
    assert (found.marks, found.staging) == (None, None)
    assert batch_options(LEAST).writer_id is None
    assert batch_options(LEAST | {"writerId": "w"}).writer_id == "w"


def test_names_are_understood_in_any_case() -> None:
    found = stream_options(
        LEAST | {"writerid": "w", "MARKCOLUMN": "offset", "markby": "topic, partition"}
    )
    assert found.writer_id == "w"
    assert found.marks == MarkColumns("offset", ("topic", "partition"))


def test_rows_are_staged_in_the_checkpoint_unless_another_place_is_named(tmp_path: Path) -> None:
    checkpoint = LEAST | {"checkpointLocation": f"file:{tmp_path}/c/", "queryName": "p.q"}
    assert stream_options(checkpoint).staging == f"{tmp_path}/c/kafkaesque-staging"
    assert stream_options(checkpoint | {"stagingDir": "s3a://b/s"}).staging == "s3://b/s"
    assert located("here") == str(Path.cwd() / "here")
    assert located("file:///tmp/there") == "/tmp/there"


def test_a_record_need_not_arrive_after_its_transaction_is_over() -> None:
    found = stream_options(LEAST | {"kafka.transaction.timeout.ms": "5000"})
    assert (found.transaction_timeout_ms, found.delivery_timeout_ms) == (5000, 5000)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topik": "x"}, "the sink has no option topik: did you mean topic?"),
        ({"subscribe": "x"}, "the sink has no option subscribe: leave it out"),
        ({"topic": ""}, "no topic is named: give topic, or, if the rows name theirs"),
        ({"markBy": "topic"}, "markBy is given without markColumn"),
        ({"kafka.compression.type": "rar"}, "use one of none, gzip, snappy, lz4, zstd"),
        ({"kafka.transaction.timeout.ms": "9"}, "give a whole number from 1000 on"),
        ({"kafka.bootstrap.servers": ""}, "no cluster is named"),
    ],
)
def test_what_cannot_be_followed_is_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(OptionsError) as caught:
        stream_options(LEAST | given)
    assert words in str(caught.value)


def test_a_batch_with_marks_needs_a_writer_and_none_replaces_anything() -> None:
    marks = {"markColumn": "offset"}
    with pytest.raises(OptionsError, match="markColumn needs a writerId"):
        batch_options(LEAST | marks)
    assert batch_options(LEAST | marks | {"writerId": "w"}).marks == MarkColumns("offset")
    with pytest.raises(OptionsError, match="a topic cannot be overwritten"):
        appended(batch_options(LEAST), overwrite=True)
