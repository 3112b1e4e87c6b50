"""What a sink has written, and by which runs of which query: as text that fits beside an offset.

    7:1/2:{"runs":["9b1c…"],"written":{"batch":41,…       the first of two texts of commit 7
    7:2/2:…,"query":"5d0e…"}}

A group keeps at most 4096 characters with an offset (`offset.metadata.max.bytes`), and marks may be
many: the text is cut into as many parts as it needs.
A run is one start of a query. Whoever writes last is the writer; a run before it is over for good:
a driver that was thought dead, or a second query with the same writerId. Pure.
Above: ledger.py, committer.py. Below: marks.py.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafkaesque.pipelines.marks import Written

MAX_TEXT = 4000
RUNS = 16
"""So many are remembered."""

_PART = re.compile(r"(\d+):(\d+)/(\d+):(.*)", re.DOTALL)
_PREFIX = 32
"""More than the numbers before a part ever take."""


@dataclass(frozen=True, slots=True)
class State:
    written: Written = field(default_factory=Written)
    runs: tuple[str, ...] = ()
    commits: int = 0

    def is_over(self, run: str) -> bool:
        """Whether another run has written since this one did."""
        return run in self.runs[:-1]

    def after(self, run: str, query: str, batch: int, marks: Mapping[str, int]) -> "State":
        others = tuple(each for each in self.runs if each != run)
        runs = (*others, run)[-RUNS:]
        return State(self.written.after(query, batch, marks), runs, self.commits + 1)

    def texts(self, max_text: int = MAX_TEXT) -> list[str]:
        kept = {"runs": self.runs, "written": json.loads(self.written.to_json())}
        text = json.dumps(kept, separators=(",", ":"), sort_keys=True)
        size = max_text - _PREFIX
        parts = [text[start : start + size] for start in range(0, len(text), size)]
        return [
            f"{self.commits}:{number}/{len(parts)}:{part}" for number, part in enumerate(parts, 1)
        ]

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> "State":
        """Raises ValueError for what `texts` has not made."""
        found = [_part(text) for text in texts]
        commits = {each[0] for each in found}
        places = [each[1:3] for each in found]
        if len(commits) != 1 or places != [(n, len(found)) for n in range(1, len(found) + 1)]:
            raise ValueError(f"{len(texts)} parts of what was written do not fit together")
        try:
            kept = json.loads("".join(each[3] for each in found))
            runs = tuple(map(str, kept["runs"]))
            written = Written.of_json(json.dumps(kept["written"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{texts[0][:80]!r} does not say what was written") from error
        return cls(written, runs, commits.pop())


def parts_of(text: str) -> tuple[int, int]:
    """Of a first text: the number of the commit, and how many texts it has. Raises ValueError."""
    commits, number, count, _ = _part(text)
    if number != 1:
        raise ValueError(f"{text[:80]!r} is not the first part of what was written")
    return commits, count


def _part(text: str) -> tuple[int, int, int, str]:
    if (found := _PART.fullmatch(text)) is None:
        raise ValueError(f"{text[:80]!r} does not say what was written")
    return int(found[1]), int(found[2]), int(found[3]), found[4]
