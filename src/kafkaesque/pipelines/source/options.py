"""What a user of the source has asked for, checked: the options of Spark's own Kafka connector.

    kafka.bootstrap.servers      HOST:PORT,…
    subscribe, subscribePattern, assign      one of them: names, a pattern for whole names, JSON
    startingOffsets              earliest, latest or JSON (a stream: latest, a batch: earliest)
    startingTimestamp            in ms, in place of startingOffsets
    endingOffsets, endingTimestamp           the same for the end of a batch
    maxOffsetsPerTrigger         of a stream     minPartitions     tasks, at least
    failOnDataLoss (true)        includeHeaders (false)
    columns                      which columns to bring, as in "value,timestamp" (all)
    kafkaConsumer.pollTimeoutMs (120000)     how long a task waits for a partition
    groupId or kafka.group.id    of a stream: where the group stands is committed, so that lag shows
    kafka.isolation.level        read_committed (the default here) or read_uncommitted
    kafka.max.partition.fetch.bytes, kafka.request.timeout.ms, and what security.py has
    decode, and what else decoding/asked.py has

Whatever else is given is refused: an option that is not followed would be a silent mistake.
Above: batch.py, stream.py. Below: pipelines/given.py, offsets.py, decoding/asked.py.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.client.connection import Connection
from kafkaesque.client.list_offsets import EARLIEST, LATEST
from kafkaesque.pipelines.given import CLUSTER, cluster, flag, known, number
from kafkaesque.pipelines.source.decoding.asked import NAMES as DECODE
from kafkaesque.pipelines.source.decoding.asked import Asked, asked
from kafkaesque.pipelines.source.offsets import Offsets, parse_offsets, parse_places
from kafkaesque.pipelines.source.security import OptionsError
from kafkaesque.types import TopicPartition

Bound: TypeAlias = int | Offsets
"""Where to begin or to end: EARLIEST, LATEST, a timestamp in ms, or an offset of each."""

_SELECTIONS = ("subscribe", "subscribePattern", "assign")
_BATCH_ONLY = ("endingOffsets", "endingTimestamp")
_STREAM_ONLY = ("maxOffsetsPerTrigger", "groupId", "kafka.group.id")
_EITHER = (
    *CLUSTER,
    *_SELECTIONS,
    "startingOffsets",
    "startingTimestamp",
    "minPartitions",
    "failOnDataLoss",
    "includeHeaders",
    "columns",
    "kafkaConsumer.pollTimeoutMs",
    "kafka.isolation.level",
    "kafka.max.partition.fetch.bytes",
    *DECODE,
)
NAMES = (*_EITHER, *_BATCH_ONLY, *_STREAM_ONLY)
_ISOLATION = ("read_committed", "read_uncommitted")
_ENDS = {"earliest": EARLIEST, "latest": LATEST}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which partitions: those of these topics, of topics like `pattern`, or these places."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    places: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceOptions:
    connection: Connection
    selection: Selection
    start: Bound
    end: Bound
    max_rows: int | None
    min_partitions: int
    fail_on_data_loss: bool
    include_headers: bool
    columns: tuple[str, ...]
    """Those that are wanted, or none: all."""
    poll_timeout_s: float
    read_committed: bool
    max_bytes: int
    group: str | None


def batch_options(given: Mapping[str, str]) -> SourceOptions:
    """Raises OptionsError."""
    options = _known(given)
    _refuse(options, _STREAM_ONLY, "a stream (spark.readStream)")
    found = _options(options, EARLIEST)
    if _marks(found.start, LATEST):
        raise OptionsError("a batch cannot start at latest: there would be nothing in it")
    if _marks(found.end, EARLIEST):
        raise OptionsError("a batch cannot end at earliest: there would be nothing in it")
    return found


def stream_options(given: Mapping[str, str]) -> SourceOptions:
    """Raises OptionsError."""
    options = _known(given)
    _refuse(options, _BATCH_ONLY, "a batch (spark.read)")
    return _options(options, LATEST)


def includes_headers(given: Mapping[str, str]) -> bool:
    return flag(_known(given), "includeHeaders", False)


def wanted_columns(given: Mapping[str, str]) -> tuple[str, ...]:
    return _columns(_known(given))


def decode_options(given: Mapping[str, str]) -> Asked | None:
    """None if values are left as they are. Raises OptionsError."""
    options = _known(given)
    if not any(options.get(name) for name in DECODE):
        return None
    chosen = _selection(options)
    topics = chosen.topics or tuple(sorted({place.topic for place in chosen.places}))
    return asked(options, topics)


def _known(given: Mapping[str, str]) -> dict[str, str]:
    return known(given, NAMES, "the source")


def _refuse(options: Mapping[str, str], names: tuple[str, ...], owner: str) -> None:
    for name in names:
        if name in options:
            raise OptionsError(f"{name} is for {owner} alone: leave it out")


def _options(options: Mapping[str, str], start: int) -> SourceOptions:
    isolation = options.get("kafka.isolation.level", _ISOLATION[0])
    if isolation not in _ISOLATION:
        raise OptionsError(f"kafka.isolation.level is {isolation!r}: use {' or '.join(_ISOLATION)}")
    return SourceOptions(
        connection=cluster(options),
        selection=_selection(options),
        start=_bound(options, "startingOffsets", "startingTimestamp", start),
        end=_bound(options, "endingOffsets", "endingTimestamp", LATEST),
        max_rows=number(options, "maxOffsetsPerTrigger", 0) or None,
        min_partitions=number(options, "minPartitions", 1),
        fail_on_data_loss=flag(options, "failOnDataLoss", True),
        include_headers=flag(options, "includeHeaders", False),
        columns=_columns(options),
        poll_timeout_s=number(options, "kafkaConsumer.pollTimeoutMs", 120_000) / 1000,
        read_committed=isolation == _ISOLATION[0],
        max_bytes=number(options, "kafka.max.partition.fetch.bytes", 4 << 20),
        group=_group(options),
    )


def _columns(options: Mapping[str, str]) -> tuple[str, ...]:
    named = (name.strip() for name in options.get("columns", "").split(","))
    return tuple(dict.fromkeys(name for name in named if name))


def _selection(options: Mapping[str, str]) -> Selection:
    given = [name for name in _SELECTIONS if options.get(name)]
    if len(given) != 1:
        problem = f"{' and '.join(given)} are both given" if given else "no topic is named"
        raise OptionsError(f"{problem}: give one of {', '.join(_SELECTIONS)}")
    (name,) = given
    text = options[name]
    try:
        if name == "assign":
            return Selection(places=tuple(parse_places(text)))
        if name == "subscribePattern":
            re.compile(text)
            return Selection(pattern=text)
    except (ValueError, re.error) as error:
        raise OptionsError(f"{name} is {text!r}, but {error}: correct it") from None
    return Selection(topics=tuple(sorted({each.strip() for each in text.split(",")} - {""})))


def _bound(options: Mapping[str, str], name: str, moment: str, default: int) -> Bound:
    text = options.get(name)
    if moment in options:
        if text is not None:
            raise OptionsError(f"{name} and {moment} are both given: leave one out")
        return number(options, moment, 0, least=0)
    if text is None:
        return default
    if text.lower() in _ENDS:
        return _ENDS[text.lower()]
    try:
        return parse_offsets(text, least=EARLIEST)
    except ValueError as error:
        raise OptionsError(
            f'{name} is {text!r}, but {error}: give earliest, latest or {{"topic": {{"0": 12}}}}'
        ) from None


def _marks(bound: Bound, mark: int) -> bool:
    return bound == mark if isinstance(bound, int) else mark in bound.values()


def _group(options: Mapping[str, str]) -> str | None:
    names = {options[name] for name in ("groupId", "kafka.group.id") if options.get(name)}
    if len(names) > 1:
        raise OptionsError("groupId and kafka.group.id name two groups: leave one out")
    return names.pop() if names else None
