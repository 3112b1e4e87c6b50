"""Spark's progress reports of one query, added up to a status. Pure.

Spark reports every batch, and now and then that there was none. Counts are added up over the run;
rates and times are those of the last batch that had rows. `behind` is what the source said there
was, less where the batch ended.
Above: runner.py. Below: client/pipelines.py, source/offsets.py.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from kafkaesque.client.pipelines import QueryStatus
from kafkaesque.pipelines.source.offsets import MORE

Report: TypeAlias = Mapping[str, Any]
Offsets: TypeAlias = dict[str, dict[str, int]]


class Tally:
    """What the reports of a query come to, from its start on, and over restarts. `to`: where it
    writes, if that is known better than Spark says it."""

    def __init__(self, name: str, to: str | None = None) -> None:
        self.status = QueryStatus(name)
        self._to = to

    def add(self, reports: Sequence[Report]) -> bool:
        """Those that are new among them; whether there were any."""
        new = [each for each in reports if int(each["batchId"]) > self.status.batch]
        for report in new:
            self._add(report)
        if reports:
            self._note(reports[-1])
        return bool(new)

    def count_late(self, rows: int) -> None:
        """Somebody has counted them: Spark counts what it has put together already."""
        self.status = replace(self.status, late_rows=rows)

    def _add(self, report: Report) -> None:
        rows = int(report["numInputRows"])
        late = sum(int(each["numRowsDroppedByWatermark"]) for each in report["stateOperators"])
        self.status = replace(
            self.status,
            batch=int(report["batchId"]),
            rows_in=self.status.rows_in + rows,
            late_rows=self.status.late_rows + late,
        )
        if rows:
            self.status = replace(
                self.status,
                rate_in=_rate(report, "inputRowsPerSecond"),
                rate_processed=_rate(report, "processedRowsPerSecond"),
                latency_ms=report.get("durationMs", {}).get("triggerExecution"),
            )

    def _note(self, report: Report) -> None:
        """What holds of now, also when the last batch had no rows."""
        operators, sources = report["stateOperators"], report["sources"]
        idle = not int(report["numInputRows"])
        self.status = replace(
            self.status,
            watermark_ms=watermark_ms(report),
            state_rows=sum(int(each["numRowsTotal"]) for each in operators),
            state_bytes=sum(int(each["memoryUsedBytes"]) for each in operators),
            behind=_behind(sources),
            rate_in=0.0 if idle and self.status.rate_in is not None else self.status.rate_in,
            source=", ".join(map(_name, sources)),
            sink=self._to or str(report["sink"]["description"]),
        )


def watermark_ms(report: Report) -> int | None:
    """None before there is one: Spark then says 1970."""
    text = report.get("eventTime", {}).get("watermark")
    if text is None:
        return None
    return int(datetime.fromisoformat(text).timestamp() * 1000) or None


def _rate(report: Report, name: str) -> float | None:
    rate = report.get(name)
    # Of a first batch Spark does not know when rows began to come.
    return None if rate is None or rate != rate else round(float(rate), 3)


def _behind(sources: Sequence[Mapping[str, Any]]) -> int | None:
    found = [_gap(_offsets(each, "latestOffset"), _offsets(each, "endOffset")) for each in sources]
    known = [gap for gap in found if gap is not None]
    return sum(known) if known else None


def _gap(latest: Offsets, end: Offsets) -> int | None:
    """None if the source does not say."""
    if not latest or not end:
        return None
    return sum(
        max(0, offset - end.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    )


def _offsets(source: Mapping[str, Any], which: str) -> Offsets:
    """As source/offsets.py has them; none if the source has another form."""
    try:
        found = json.loads(source.get(which) or "null") or {}
        return {
            str(topic): {str(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in found.items()
            if not topic.startswith(MORE)
        }
    except (AttributeError, TypeError, ValueError):
        return {}


def _name(source: Mapping[str, Any]) -> str:
    """The topics that it reads: what Spark says of a source in Python is the name of a class."""
    return ", ".join(_offsets(source, "endOffset")) or str(source["description"])
