"""How far each group is behind: the high watermark of a partition minus what the group committed.
A partition that is offline is left out: nobody knows where it ends.

At most MAX_LINES lines: who scrapes must not stop the loop, and thousands of groups are no news to
anybody. Those left out are counted. Above: server.py. Below: coordinator.py, topics.py, metrics.py.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkaesque.metrics import Metric, Sample, gauge
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.broker.broker import Broker

MAX_LINES = 1_000

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def group_metrics(broker: "Broker", max_lines: int = MAX_LINES) -> Iterator[Metric]:
    group_ids = broker.coordinator.table.group_ids()
    yield gauge("kafkaesque_groups", "Groups with members or offsets.", len(group_ids))
    lines: list[Sample] = []
    left_out = 0
    for group_id in group_ids:
        of_group = list(_lags(broker, group_id)) if len(lines) < max_lines else None
        if of_group is None or len(lines) + len(of_group) > max_lines:
            left_out += 1
        lines += (of_group or [])[: max_lines - len(lines)]
    yield Metric(
        "kafkaesque_group_lag", "gauge", "Records that a group has not committed yet.", lines
    )
    about = f"Groups that the lag leaves out, in whole or in part: it has {max_lines} lines."
    yield gauge("kafkaesque_group_lag_left_out", about, left_out)


def _lags(broker: "Broker", group_id: str) -> Iterator[Sample]:
    offsets = broker.coordinator.table.offsets
    for place in offsets.partitions(group_id):
        committed = offsets.fetch(group_id, place)
        end = _high_watermark(broker, place)
        if committed is not None and end is not None:
            yield Sample(_labels(group_id, place), max(0, end - committed.offset))


def _high_watermark(broker: "Broker", place: TopicPartition) -> int | None:
    if place.topic not in broker.topics:
        return None
    partitions = broker.topics.named(place.topic).partitions
    if place.partition >= len(partitions) or partitions[place.partition].offline is not None:
        return None
    return partitions[place.partition].high_watermark


def _labels(group_id: str, place: TopicPartition) -> str:
    group = group_id.translate(_ESCAPES)
    return f'{{group="{group}",topic="{place.topic}",partition="{place.partition}"}}'
