"""What a user of the sink has asked for, checked: the options of Spark's own Kafka connector.

    kafka.bootstrap.servers      HOST:PORT,…
    topic                        where all rows go; else each row names its own in a column `topic`
    writerId                     whose rows these are (kafkaesque-sink-<topic>): the name of the
                                 transactions, and of the group that keeps what is written
    markColumn, markBy           columns that tell written rows from new ones without a checkpoint
    stagingDir                   where large tasks put their rows (a directory in the checkpoint)
    kafka.transaction.timeout.ms (300000)     kafka.delivery.timeout.ms (120000)
    kafka.compression.type (lz4), kafka.linger.ms (20), kafka.request.timeout.ms, and what
    source/security.py has

Above: stream.py, batch.py. Below: given.py.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kafkaesque.client.connection import Connection
from kafkaesque.pipelines.given import CLUSTER, cluster, known, number
from kafkaesque.pipelines.marks import MarkColumns
from kafkaesque.pipelines.source.security import OptionsError

STAGING = "kafkaesque-staging"
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_SPARKS = ("checkpointLocation", "queryName")
_NAMES = (
    *CLUSTER,
    "markColumn",
    "markBy",
    *_SPARKS,
    "topic",
    "writerId",
    "stagingDir",
    "kafka.transaction.timeout.ms",
    "kafka.delivery.timeout.ms",
    "kafka.compression.type",
    "kafka.linger.ms",
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """`writer_id` is None for a batch that has none; `staging` if nobody says where."""

    connection: Connection
    topic: str | None
    writer_id: str | None
    marks: MarkColumns | None
    staging: str | None
    transaction_timeout_ms: int
    delivery_timeout_ms: int
    compression: str
    linger_ms: int


def stream_options(given: Mapping[str, str]) -> SinkOptions:
    """Raises OptionsError."""
    options = known(given, _NAMES, "the sink")
    topic, writer_id = options.get("topic"), options.get("writerId")
    if not writer_id and not topic:
        raise OptionsError(
            "no topic is named: give topic, or, if the rows name theirs in a column, a writerId"
        )
    return _options(options, writer_id or f"kafkaesque-sink-{topic}")


def batch_options(given: Mapping[str, str]) -> SinkOptions:
    """Raises OptionsError."""
    options = known(given, _NAMES, "the sink")
    if options.get("markColumn") and not options.get("writerId"):
        raise OptionsError("markColumn needs a writerId, under which marks are kept: give one")
    return _options(options, options.get("writerId") or None)


def appended(options: SinkOptions, overwrite: bool) -> SinkOptions:
    """A log is only ever added to. Raises OptionsError for a frame that should replace it."""
    if overwrite:
        raise OptionsError(
            "a topic cannot be overwritten: use mode append (outputMode append or update), and "
            "delete and create the topic to begin anew"
        )
    return options


def _options(options: Mapping[str, str], writer_id: str | None) -> SinkOptions:
    compression = options.get("kafka.compression.type", "lz4")
    if compression not in COMPRESSIONS:
        raise OptionsError(
            f"kafka.compression.type is {compression!r}: use one of {', '.join(COMPRESSIONS)}"
        )
    transaction_ms = number(options, "kafka.transaction.timeout.ms", 300_000, least=1000)
    return SinkOptions(
        connection=cluster(options),
        topic=options.get("topic") or None,
        writer_id=writer_id,
        marks=_marks(options),
        staging=_staging(options),
        transaction_timeout_ms=transaction_ms,
        # What has not arrived when its transaction is over need not arrive any more.
        delivery_timeout_ms=min(
            number(options, "kafka.delivery.timeout.ms", 120_000, least=1000), transaction_ms
        ),
        compression=compression,
        linger_ms=number(options, "kafka.linger.ms", 20, least=0),
    )


def _marks(options: Mapping[str, str]) -> MarkColumns | None:
    column, by = options.get("markColumn"), options.get("markBy")
    if not column:
        if by:
            raise OptionsError("markBy is given without markColumn, the column that rises: give it")
        return None
    names = tuple(name.strip() for name in (by or "").split(",") if name.strip())
    return MarkColumns(column, names)


def _staging(options: Mapping[str, str]) -> str | None:
    if directory := options.get("stagingDir"):
        return located(directory)
    if checkpoint := options.get("checkpointLocation"):
        return f"{located(checkpoint).rstrip('/')}/{STAGING}"
    return None


def located(directory: str) -> str:
    """A whole path or a URI: tasks may run in another directory. Java writes file:/here."""
    if local := re.fullmatch(r"file:/+(.*)", directory):
        return f"/{local[1]}"
    if re.match(r"[a-z][a-z0-9+.-]*://", directory, re.IGNORECASE):
        return re.sub(r"^s3[an]://", "s3://", directory)
    return os.path.abspath(directory)
