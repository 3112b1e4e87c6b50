"""Can a reader's schema read all that was written with a writer's? As Apache Avro decides.

Confluent's registry asks Avro and adds no rules, and so do we. Two walks over pairs of nodes:

    the report    from the roots down: every pair that must fit, once; what is wrong with it and
                  where, then the pairs below it. A pair that comes up again is not reported again,
                  nor is a union that only fails because a pair around it does.
    the verdicts  (verdicts.py) for unions, where one of several pairs is enough.

Neither walk recurses; both together look at MAX_STEPS pairs at most.
Paths are Java's: JSON pointers into the reader, with the writer's index where that one has a union.
Above: __init__.py. Below: verdicts.py, resolution.py.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kafkaesque.registry.avro.names import shortened
from kafkaesque.registry.avro.nodes import Node, described
from kafkaesque.registry.avro.resolution import Choice
from kafkaesque.registry.avro.schema import AvroSchema
from kafkaesque.registry.avro.verdicts import Pair, Verdicts
from kafkaesque.registry.schema_text import Incompatibility

MAX_REPORTED = 1000
MAX_PATH = 2000
"""Characters: recursive schemas can have findings at the end of very long ways."""


def incompatibilities(reader: AvroSchema, writer: AvroSchema) -> list[Incompatibility]:
    findings = _Report().findings(reader.root, writer.root)
    return list(islice(findings, MAX_REPORTED))


class _Way(NamedTuple):
    """How the walk came to a pair: shared between all pairs below."""

    before: "_Way | None"
    steps: tuple[str, ...]
    pair: Pair

    def path(self, *steps: str) -> str:
        parts = list(reversed(steps))
        way: _Way | None = self
        while way is not None:
            parts += reversed(way.steps)
            way = way.before
        return shortened("/" + "/".join(reversed(parts)), MAX_PATH)

    def pairs(self) -> set[Pair]:
        found: set[Pair] = set()
        way: _Way | None = self
        while way is not None:
            found.add(way.pair)
            way = way.before
        return found


class _Report:
    def __init__(self) -> None:
        self._verdicts = Verdicts()

    def findings(
        self, reader: Node, writer: Node, *, explain: bool = True
    ) -> Iterator[Incompatibility]:
        rest = [(_Way(None, (), (reader, writer)), "the schema")]
        seen: set[Pair] = set()
        while rest:
            way, place = rest.pop()
            if way.pair in seen:
                continue
            seen.add(way.pair)
            found = self._verdicts.step(way.pair)
            for problem in found.problems:
                said = f"{problem.place or place} {problem.said}"
                yield Incompatibility(problem.kind, way.path(*problem.steps), said)
            for choice in found.choices:
                if not self._verdicts.has_a_fit(choice) and not self._is_reported(choice, way):
                    said = f"{place} {self._no_branch(choice, explain)}"
                    yield Incompatibility("MISSING_UNION_BRANCH", way.path(*choice.steps), said)
            for below in reversed(found.below):
                inner = _Way(way, below.steps, (below.reader, below.writer))
                rest.append((inner, below.place.replace("{}", place)))

    def _is_reported(self, choice: Choice, way: _Way) -> bool:
        """Whether one of the branches would fit if the pairs around it did."""
        return self._verdicts.would_have_a_fit(choice, way.pairs())

    def _no_branch(self, choice: Choice, explain: bool) -> str:
        names = shortened(", ".join(map(described, choice.reader.branches[:10])), 200)
        said = f"has no branch in the reader ({names}) for the {described(choice.writer)} written"
        near = self._verdicts.branches.near(choice.reader, choice.writer)
        if not explain or not near:
            return said
        reason = next(self.findings(near[0], choice.writer, explain=False))
        return f"{said}: {reason.message}"
