"""Where a query stands, as Spark keeps it for each batch. Pure.

    {"ticks": {"0": 120, "1": 98},                the next offset of each partition
     "#ids": {"ticks": "5e0c…"},                  whose they are: a topic made anew has another id
     "#begin": {"ticks": {"0": 100, "1": 90}}}    in the first batch alone: where it began

No topic has a "#" in its name. A cluster older than Kafka 2.8 tells no ids: there a topic that was
made anew is only noticed if it is shorter. Without the beginning, a first batch that is run again
could not start at the end of a topic: that has moved on.
Above: stream.py, batches.py. Below: offsets.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafkaesque.pipelines.source.offsets import MORE, Offsets, kept, offsets_of

_IDS: Final = f"{MORE}ids"
_BEGIN: Final = f"{MORE}begin"


@dataclass(frozen=True, slots=True)
class Standing:
    offsets: Offsets = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    begin: Offsets | None = None

    @classmethod
    def of(cls, text: Mapping[str, Any]) -> "Standing":
        begin = text.get(_BEGIN)
        return cls(
            offsets_of(text), text.get(_IDS, {}), None if begin is None else offsets_of(begin)
        )

    def kept(self) -> dict[str, Any]:
        """Sorted: Spark compares them as text."""
        found: dict[str, Any] = kept(self.offsets)
        ids = {topic: self.ids[topic] for topic in found if topic in self.ids}
        if ids:
            found[_IDS] = ids
        if self.begin is not None:
            found[_BEGIN] = kept(self.begin)
        return found

    def made_anew(self, since: "Standing") -> set[str]:
        """Topics that are not those of then, though they have their names."""
        return {topic for topic, now in self.ids.items() if since.ids.get(topic, now) != now}

    def start(self, before: "Standing") -> Offsets:
        """Where the batch that ends here begins, if the one before it ended there. A partition
        that is not in it is read from its first record."""
        if self.begin is not None and self != before:
            return self.begin
        anew = self.made_anew(before)
        return {place: at for place, at in before.offsets.items() if place.topic not in anew}
