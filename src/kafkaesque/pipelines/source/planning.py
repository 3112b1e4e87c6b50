"""Which partitions are read, and from where to where: asked of the cluster, on the driver.

Records that were to be read and are gone (aged out, deleted, a topic made anew) are a
DataLossError, or with failOnDataLoss=false the partition goes on from the first record there is.
A topic may go between two questions: then all is asked anew.
Above: batch.py, stream.py. Below: client/fetch.py, offsets.py.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final, NoReturn

from kafkaesque.client.fetch import EARLIEST, LATEST, Fetcher
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.pipelines.source.offsets import Offsets, Range
from kafkaesque.pipelines.source.options import Bound, SourceOptions
from kafkaesque.pipelines.source.security import OptionsError
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


async def found(fetcher: Fetcher, options: SourceOptions) -> list[TopicPartition]:
    """The partitions that were chosen, as many of them as there are now."""
    chosen = options.selection
    if chosen.pattern is not None:
        whole = re.compile(chosen.pattern)
        counts = await fetcher.partitions()
        return _places({name: n for name, n in counts.items() if whole.fullmatch(name)})
    names = {*chosen.topics, *(place.topic for place in chosen.places)}
    counts = await fetcher.partitions(names)
    there = _places(counts)
    missing: Collection[object] = names - counts.keys()
    if chosen.places:
        missing = set(chosen.places) - set(there)
        there = sorted(set(chosen.places) & set(there))
    if missing and options.fail_on_data_loss:
        lost(f"there is no {', '.join(sorted(map(str, missing)))} in the cluster")
    return there


async def ends(fetcher: Fetcher, options: SourceOptions) -> Offsets:
    """Where the chosen partitions end now."""
    while True:
        places = await found(fetcher, options)
        try:
            return await resolved(fetcher, LATEST, places)
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
    fetcher: Fetcher, options: SourceOptions, start: Mapping[TopicPartition, int], end: Offsets
) -> list[Range]:
    """From `start` to `end`; what has no start is read from its beginning."""
    moved = {place: offset for place, offset in end.items() if start.get(place) != offset}
    there = set(await found(fetcher, options)) if moved else set()
    gone = sorted(moved.keys() - there)
    if gone and options.fail_on_data_loss:
        lost(f"{', '.join(map(str, gone))} is not there any more")
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
