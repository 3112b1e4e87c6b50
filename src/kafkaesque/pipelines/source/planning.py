"""Which partitions are read, and from where to where: asked of the cluster, on the driver.

Records that were to be read and are gone (aged out, deleted, a topic made anew) are a
DataLossError, or with failOnDataLoss=false the partition goes on from the first record there is.
A topic may go between two questions: then all is asked anew.
Above: batch.py, stream.py. Below: client/fetch.py, standing.py.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, NoReturn

from kafkaesque.client.cluster_metadata import ClusterMetadata
from kafkaesque.client.fetch import EARLIEST, LATEST, Fetcher
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.pipelines.source.offsets import Offsets, Range
from kafkaesque.pipelines.source.options import Bound, SourceOptions
from kafkaesque.pipelines.source.security import OptionsError
from kafkaesque.pipelines.source.standing import Standing
from kafkaesque.types import TopicPartition

GONE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class DataLossError(Exception):
    """Records that were to be read are not there any more."""


def lost(reason: str) -> NoReturn:
    raise DataLossError(
        f"{reason}: records may be lost unread. To go on with what there is, "
        "give failOnDataLoss=false, or correct the offsets; a query that is to begin anew needs "
        "another checkpoint directory"
    )


def told(anew: Collection[str]) -> str:
    return f" ({', '.join(sorted(anew))} was deleted and made anew)" if anew else ""


class Found(NamedTuple):
    """`ids` are those of their topics, if the cluster tells any."""

    places: list[TopicPartition]
    ids: dict[str, str]


async def found(fetcher: Fetcher, options: SourceOptions) -> Found:
    """The partitions that were chosen, as many of them as there are now."""
    chosen = options.selection
    if chosen.pattern is not None:
        whole = re.compile(chosen.pattern)
        metadata = await fetcher.metadata(None)
        names = {name for name in metadata.counts if whole.fullmatch(name)} - metadata.internal
        return _found(metadata, _places({name: metadata.counts[name] for name in names}))
    names = {*chosen.topics, *(place.topic for place in chosen.places)}
    metadata = await fetcher.metadata(names)
    counts = metadata.counts
    there = _places(counts)
    missing: Collection[object] = names - counts.keys()
    if chosen.places:
        missing = set(chosen.places) - set(there)
        there = sorted(set(chosen.places) & set(there))
    if missing and options.fail_on_data_loss:
        raise DataLossError(
            f"there is no {', '.join(sorted(map(str, missing)))} in the cluster: correct the name, "
            "or, if it was deleted, give failOnDataLoss=false to go on without it"
        )
    return _found(metadata, there)


def _found(metadata: ClusterMetadata, places: list[TopicPartition]) -> Found:
    topics = {place.topic for place in places}
    return Found(places, {name: str(each) for name, each in metadata.ids.items() if name in topics})


async def ends(fetcher: Fetcher, options: SourceOptions) -> Standing:
    """Where the chosen partitions end now."""
    while True:
        places, ids = await found(fetcher, options)
        try:
            return Standing(await resolved(fetcher, LATEST, places), ids)
        except KafkaError as error:
            if error.code not in GONE:
                raise


async def resolved(fetcher: Fetcher, bound: Bound, places: Collection[TopicPartition]) -> Offsets:
    """The offset in each partition."""
    if isinstance(bound, int):
        return await fetcher.offsets(places, bound) if places else {}
    _require_all(bound, places)
    offsets = dict(bound)
    for mark in (EARLIEST, LATEST):
        marked = [place for place, offset in bound.items() if offset == mark]
        if marked:
            offsets |= await fetcher.offsets(marked, mark)
    return offsets


async def ranges(
    fetcher: Fetcher, options: SourceOptions, start: Mapping[TopicPartition, int], end: Standing
) -> list[Range]:
    """From `start` to `end`; what has no start is read from its beginning."""
    moved = {place: offset for place, offset in end.offsets.items() if start.get(place) != offset}
    if not moved:
        return []
    places, ids = await found(fetcher, options)
    anew = Standing(ids=ids).made_anew(end)
    there = {place for place in places if place.topic not in anew}
    gone = sorted(moved.keys() - there)
    if gone and options.fail_on_data_loss:
        lost(f"{', '.join(map(str, gone))} is not there any more{told(anew)}")
    known = [place for place in sorted(moved) if place in there]
    try:
        first = await fetcher.offsets(known, EARLIEST) if known else {}
    except KafkaError as error:
        if error.code not in GONE:
            raise
        return await ranges(fetcher, options, start, end)
    return [
        Range(place, _begin(place, start.get(place), moved[place], first[place], options), end)
        for place, end in ((each, moved[each]) for each in known)
    ]


def _begin(
    place: TopicPartition, start: int | None, end: int, first: int, options: SourceOptions
) -> int:
    if start is None:
        return first
    if first <= start <= end:
        return start
    if options.fail_on_data_loss:
        lost(f"{place} was to be read from {start} to {end}, but begins at {first}")
    return first


def _places(counts: Mapping[str, int]) -> list[TopicPartition]:
    return [TopicPartition(name, each) for name in sorted(counts) for each in range(counts[name])]


def _require_all(bound: Offsets, places: Collection[TopicPartition]) -> None:
    for problem, cure, odd in (
        ("not for", "add them (-2: from the first, -1: from the end)", set(places) - bound.keys()),
        ("for", "leave out what is not there", bound.keys() - set(places)),
    ):
        if odd:
            names = ", ".join(map(str, sorted(odd)))
            raise OptionsError(f"offsets are given {problem} {names}: {cure}")
