"""Types, enumerations, numbers and strings: what a reader asks of one value without looking inside.

Above: compare.py. Below: facts.py.
"""

from kafkaesque.registry.jsonschema import patterns
from kafkaesque.registry.jsonschema.facts import Bound, Facts, bounds_of
from kafkaesque.registry.jsonschema.findings import Findings, finding
from kafkaesque.registry.jsonschema.nodes import Node
from kafkaesque.registry.jsonschema.values import (
    FRACTION,
    INTEGER,
    NUMBERS,
    exact,
    key,
    said,
    shown,
    types_named,
)


def compare_types(writer: Facts, reader: Node) -> Findings:
    if "type" not in reader.words:
        return []
    taken = types_named(reader.words["type"])
    missing = writer.types - taken
    if not missing:
        return []
    if missing == {FRACTION} and INTEGER in taken:
        kind = "TYPE_NARROWED"
    elif isinstance(reader.words["type"], list) and len(taken) > 1 and taken & writer.types:
        kind = "SUM_TYPE_NARROWED"
    else:
        kind = "TYPE_CHANGED"
    return finding(
        kind,
        "",
        f"the reader takes {said(taken)} only, but the writer may write {said(writer.types)}",
    )


def compare_enumeration(writer: Facts, reader: Node) -> Findings:
    found: Findings = []
    for word in ("enum", "const"):
        if word in reader.words:
            listed = reader.words["enum"] if word == "enum" else [reader.words["const"]]
            found.extend(_compare_listed(writer, listed, word))
    return found


def _compare_listed(writer: Facts, listed: list[object], word: str) -> Findings:
    taken = {key(value) for value in listed}
    path = "/" + word
    if writer.values is None:
        return finding(
            "PRODUCT_TYPE_EXTENDED",
            path,
            f"the reader takes only {_sample(listed)}, the writer is not so bound",
        )
    written = {key(value): value for value in writer.values}
    lost = [value for k, value in written.items() if k not in taken]
    if not lost:
        return []
    kind = (
        "ENUM_ARRAY_NARROWED" if word == "enum" and taken < written.keys() else "ENUM_ARRAY_CHANGED"
    )
    return finding(
        kind, path, f"the writer may write {_sample(lost)}, which the reader's {word} does not list"
    )


def _sample(values: list[object]) -> str:
    more = f" and {len(values) - 5} more" if len(values) > 5 else ""
    return ", ".join(shown(value) for value in values[:5]) + more


def compare_numbers(writer: Facts, reader: Node) -> Findings:
    if not writer.types & NUMBERS:
        return []
    found: Findings = []
    for asked in bounds_of(reader, "maximum"):
        known = writer.upper
        if known is None or not _within(known.value, asked.value, known, asked):
            found.extend(_bound(writer, "maximum", asked, known, "DECREASED"))
    for asked in bounds_of(reader, "minimum"):
        known = writer.lower
        if known is None or not _within(asked.value, known.value, known, asked):
            found.extend(_bound(writer, "minimum", asked, known, "INCREASED"))
    return found + _compare_steps(writer, reader)


def _within(low: float, high: float, known: Bound, asked: Bound) -> bool:
    return low < high or (low == high and (known.exclusive or not asked.exclusive))


def _bound(writer: Facts, word: str, asked: Bound, known: Bound | None, change: str) -> Findings:
    word = "exclusive" + word.capitalize() if asked.exclusive else word
    kind = "EXCLUSIVE_" * asked.exclusive + word.removeprefix("exclusive").upper()
    kind += "_" + (change if known is not None and writer.has(word) else "ADDED")
    limit = "no such bound" if known is None else f"{shown(known.value)} as its bound"
    return finding(
        kind, "/" + word, f"the reader sets {word} {shown(asked.value)}, the writer has {limit}"
    )


def _compare_steps(writer: Facts, reader: Node) -> Findings:
    if "multipleOf" not in reader.words:
        return []
    step = exact(reader.words["multipleOf"])
    if writer.multiple_of(step):
        return []
    steps = [exact(part.words["multipleOf"]) for part in writer.parts if "multipleOf" in part.words]
    if not steps:
        kind = "MULTIPLE_OF_ADDED"
    else:
        kind = (
            "MULTIPLE_OF_EXPANDED"
            if any(step % known == 0 for known in steps)
            else "MULTIPLE_OF_CHANGED"
        )
    message = f"the reader takes multiples of {shown(reader.words['multipleOf'])} only"
    return finding(kind, "/multipleOf", f"{message}, the writer may write others")


def compare_strings(writer: Facts, reader: Node) -> Findings:
    if "string" not in writer.types:
        return []
    return compare_counts(writer, reader, "Length", "characters") + _compare_pattern(writer, reader)


def compare_counts(writer: Facts, reader: Node, what: str, unit: str) -> Findings:
    """`what` is Length, Items or Properties."""
    found: Findings = []
    most, least = f"max{what}", f"min{what}"
    name = what.upper()
    if most in reader.words:
        asked, known = reader.words[most], writer.most(most)
        if known is None or known > asked:
            kind = f"MAX_{name}_" + ("DECREASED" if writer.has(most) else "ADDED")
            has = "any number of them" if known is None else f"up to {shown(known)}"
            message = f"the reader takes at most {shown(asked)} {unit}, the writer may write {has}"
            found.extend(finding(kind, "/" + most, message))
    if least in reader.words and writer.least(least) < reader.words[least]:
        kind = f"MIN_{name}_" + ("INCREASED" if writer.has(least) else "ADDED")
        message = f"the reader asks for at least {shown(reader.words[least])} {unit}"
        found.extend(
            finding(
                kind, "/" + least, f"{message}, the writer may write {shown(writer.least(least))}"
            )
        )
    return found


def _compare_pattern(writer: Facts, reader: Node) -> Findings:
    pattern = reader.words.get("pattern")
    if pattern is None:
        return []
    if writer.values is not None:
        texts = [value for value in writer.values if isinstance(value, str)]
        if all(patterns.matches(pattern, text) for text in texts):
            return []
    known = [part.words["pattern"] for part in writer.parts if "pattern" in part.words]
    if pattern in known:
        return []
    message = f"the reader asks for the pattern {shown(pattern)}, the writer "
    if known:
        return finding("PATTERN_CHANGED", "/pattern", message + f"for {shown(known[0])}")
    return finding("PATTERN_ADDED", "/pattern", message + "for none")
