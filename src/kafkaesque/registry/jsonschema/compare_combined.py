"""allOf, anyOf, oneOf, not, if/then/else: what a reader makes out of several schemas.

A oneOf asks twice: that one branch takes all that is written, and that no other takes any of it.
The second is what a change breaks unseen: two branches that a value fits refuse it.
Above: compare.py. Below: facts.py, impossible.py (through the comparison).
"""

from typing import TYPE_CHECKING

from kafkaesque.registry.jsonschema.facts import Facts
from kafkaesque.registry.jsonschema.findings import Findings, finding, step, under
from kafkaesque.registry.jsonschema.nodes import TRUE, Node

if TYPE_CHECKING:
    from kafkaesque.registry.jsonschema.compare import Comparison


def compare_combined(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    found = _compare_all(comparison, writer, reader)
    for word in ("anyOf", "oneOf"):
        if word in reader.words:
            found.extend(_compare_branches(comparison, writer, reader, word))
    return (
        found
        + _compare_not(comparison, writer, reader)
        + _compare_condition(comparison, writer, reader)
    )


def _compare_all(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    branches = reader.several("allOf")
    found: Findings = []
    for index, branch in enumerate(branches):
        path = f"/allOf/{index}"
        found.extend(under(path, comparison.compare(writer.nodes, branch)))
    if not found or len(branches) == 1:
        return found
    before = max(
        (len(part.words["allOf"]) for part in writer.nodes if "allOf" in part.words), default=1
    )
    kind = "PRODUCT_TYPE_EXTENDED" if before < len(branches) else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
    message = f"the writer may write what not all of the reader's allOf take: {found[0].message}"
    return finding(kind, "", message) + found


def _compare_branches(comparison: "Comparison", writer: Facts, reader: Node, word: str) -> Findings:
    branches = reader.several(word)
    reasons: list[Findings] = []
    for index, branch in enumerate(branches):
        reasons.append(under(step(word) + step(index), comparison.compare(writer.nodes, branch)))
        if not reasons[-1]:
            return _compare_others(comparison, writer, branches, index) if word == "oneOf" else []
    if len(branches) == 1 and not _sums(writer):
        return reasons[0]
    nearest = min(reasons, key=len)[0]
    message = f"no branch of the reader's {word} takes all that the writer may write; the nearest"
    return finding(
        _kind(writer, reader, word), "", f"{message} ({nearest.path}): {nearest.message}"
    )


def _kind(writer: Facts, reader: Node, word: str) -> str:
    """What Confluent calls it depends on what the writer had in this place."""
    before = _sums(writer)
    if not before:
        return "TYPE_CHANGED"
    was, count = before[0]
    if was == "anyOf" and word == "oneOf" and count > 1:
        return "COMBINED_TYPE_CHANGED"
    return (
        "SUM_TYPE_NARROWED"
        if count > len(reader.words[word])
        else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
    )


def _sums(writer: Facts) -> list[tuple[str, int]]:
    return [
        (word, len(part.words[word]))
        for part in writer.parts
        for word in ("anyOf", "oneOf")
        if word in part.words
    ]


def _compare_others(
    comparison: "Comparison", writer: Facts, branches: list[Node], taken: int
) -> Findings:
    for index, branch in enumerate(branches):
        if index != taken and not comparison.impossible((*writer.nodes, branch)):
            message = (
                f"what the writer writes fits branch {taken} of the reader's oneOf and may fit "
                f"branch {index} too, and oneOf takes only what fits one: "
                "tell them apart, or use anyOf"
            )
            return finding("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "", message)
    return []


def _compare_not(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    denied = reader.one("not")
    if denied is None or comparison.impossible((*writer.nodes, denied)):
        return []
    return finding(
        "NOT_TYPE_EXTENDED", "/not", "the reader refuses by `not` what the writer may write"
    )


def _compare_condition(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    """Where it cannot be told which way a value goes, both must take it."""
    condition = reader.one("if")
    if condition is None or any(_same_condition(comparison, part, reader) for part in writer.parts):
        return []
    found: Findings = []
    if not comparison.impossible((*writer.nodes, condition)):
        inside = (*writer.nodes, condition)
        found.extend(under("/then", comparison.compare(inside, reader.one("then") or TRUE)))
    if comparison.compare(writer.nodes, condition):
        found.extend(under("/else", comparison.compare(writer.nodes, reader.one("else") or TRUE)))
    if not found:
        return []
    message = f"the reader's if/then/else may refuse what the writer writes: {found[0].message}"
    return finding("COMBINED_TYPE_SUBSCHEMAS_CHANGED", "/if", message) + found


def _same_condition(comparison: "Comparison", part: Node, reader: Node) -> bool:
    return all(comparison.same(part.one(word), reader.one(word)) for word in ("if", "then", "else"))
