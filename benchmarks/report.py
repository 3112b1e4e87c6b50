"""What was measured: samples by row and variant, what counts of them, and all of it as JSON.

A row is a name and a unit within a figure. Nothing here measures or prints; table.py and page.py
show a `Report`, and a report that was written as JSON reads back as the same one.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any

Samples = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the samples of each variant, by its name. `peak`: the largest counts."""

    figure: str
    name: str
    unit: str
    samples: Samples
    peak: bool = False

    def value(self, variant: str) -> float | None:
        """The median, or the peak, if the variant took part."""
        values = self.samples.get(variant)
        if not values:
            return None
        return max(values) if self.peak else median(values)

    def ratio(self, variant: str, reference: str) -> float | None:
        value, base = self.value(variant), self.value(reference)
        return value / base if value is not None and base else None


class Collection:
    """Samples as they come, in rows in the order of their first."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str, str, bool], dict[str, list[float]]] = {}

    def add(
        self, figure: str, variant: str, name: str, unit: str, value: float, peak: bool = False
    ) -> None:
        row = self._samples.setdefault((figure, name, unit, peak), {})
        row.setdefault(variant, []).append(value)

    def rows(self) -> tuple[Row, ...]:
        return tuple(
            Row(figure, name, unit, _kept(row), peak)
            for (figure, name, unit, peak), row in self._samples.items()
        )


@dataclass(frozen=True, slots=True)
class Report:
    """One run: when (UTC), by which command, how long, on what, and what came out."""

    taken: str
    command: str
    seconds: float
    versions: Mapping[str, str]
    variants: tuple[str, ...]
    reference: str
    rows: tuple[Row, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """What else an older report says is left out."""
        said: dict[str, Any] = json.loads(text)
        rows = tuple(Row(**{**row, "samples": _kept(row["samples"])}) for row in said["rows"])
        known = {each.name: said[each.name] for each in fields(cls)}
        return cls(**{**known, "variants": tuple(said["variants"]), "rows": rows})


def _kept(samples: Mapping[str, Iterable[float]]) -> Samples:
    return {variant: tuple(values) for variant, values in samples.items()}
