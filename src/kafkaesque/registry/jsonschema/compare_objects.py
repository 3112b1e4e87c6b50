"""Objects: names one by one, then the names that nobody lists.

Content models, in Confluent's words: open (any other name, any value), closed (no other name),
partially open (other names by patternProperties, or by a schema as additionalProperties). Whether a
new property is safe depends on the model of the *writer*: an open one may have used the name
already, for something else. Whether a property may go depends on the model of the *reader*.
Above: compare.py, impossible.py. Below: facts.py, patterns.py.
"""

from typing import TYPE_CHECKING, NamedTuple

from kafkaesque.registry.jsonschema import patterns
from kafkaesque.registry.jsonschema.compare_dependencies import compare_dependencies
from kafkaesque.registry.jsonschema.compare_scalars import compare_counts
from kafkaesque.registry.jsonschema.facts import Facts
from kafkaesque.registry.jsonschema.findings import Findings, finding, step, under
from kafkaesque.registry.jsonschema.nodes import FALSE, Node, fence
from kafkaesque.registry.jsonschema.values import shown

if TYPE_CHECKING:
    from kafkaesque.registry.jsonschema.compare import Comparison


class Written(NamedTuple):
    """What a writer says of one name. Without nodes it may be anything."""

    nodes: tuple[Node, ...]
    listed: bool


def written_property(comparison: "Comparison", writer: Facts, name: str) -> Written:
    comparison.budget.step(len(writer.parts))
    nodes: list[Node] = []
    listed = False
    for part in writer.parts:
        own = part.words.get("properties", {})
        if name in own:
            nodes.append(part.child(own[name]))
            listed = True
        matched = name in own
        for pattern, raw in part.words.get("patternProperties", {}).items():
            comparison.budget.step()
            hit = patterns.matches(pattern, name)
            # None: it may match, and then additionalProperties says nothing of the name.
            matched = matched or hit is not False
            if hit:
                nodes.append(part.child(raw))
        if not matched and "additionalProperties" in part.words:
            nodes.append(part.child(part.words["additionalProperties"]))
    return Written(tuple(dict.fromkeys(nodes)), listed)


def compare_objects(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    if "object" not in writer.types:
        return []
    found = _compare_required(comparison, writer, reader)
    found += _compare_names(comparison, writer, reader, "additionalProperties")
    found += compare_dependencies(comparison, writer, reader)
    found += compare_counts(writer, reader, "Properties", "properties")
    border = fence(reader, strict=True)
    if border is not None:
        found += _compare_names(comparison, writer, border, "unevaluatedProperties")
    return found + _compare_spelling(comparison, writer, reader)


def _compare_required(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    found: Findings = []
    properties = reader.named("properties")
    for name in reader.words.get("required", ()):
        comparison.budget.step()
        if name in writer.required or (name in properties and has_default(properties[name])):
            continue
        written = written_property(comparison, writer, name)
        message = (
            f"property {shown(name)} is required by the reader, but the writer may leave it out"
        )
        if (
            written.listed
            or name not in properties
            or not (written.nodes or properties[name].words)
        ):
            found += finding("REQUIRED_ATTRIBUTE_ADDED", "/required" + step(name), message)
        elif written.nodes:
            path = "/properties" + step(name)
            found += finding("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", path, message)
        elif not comparison.compare((), properties[name]):
            found += finding("REQUIRED_ATTRIBUTE_ADDED", "/required" + step(name), message)
    return found


def has_default(node: Node) -> bool:
    seen: set[int] = set()
    while "default" not in node.words and len(node.targets) == 1 and id(node) not in seen:
        seen.add(id(node))
        (node,) = node.targets.values()
    return "default" in node.words


def _compare_names(comparison: "Comparison", writer: Facts, reader: Node, word: str) -> Findings:
    """`word` names the keyword that says what becomes of other names."""
    found: Findings = []
    listed = reader.named("properties")
    known = dict.fromkeys(
        name for part in writer.parts for name in part.words.get("properties", ())
    )
    if not reader.words.keys() & {"properties", "patternProperties", "additionalProperties"}:
        return []
    for name in {**listed, **known}:
        comparison.budget.step()
        written = written_property(comparison, writer, name)
        if FALSE in written.nodes:
            continue
        if name in listed:
            found += under(
                "/properties" + step(name), _compare_listed(comparison, written, reader, name)
            )
        found += _compare_elsewhere(comparison, written, reader, name)
    return (
        found
        + _compare_patterns(comparison, writer, reader)
        + _compare_others(comparison, writer, reader, word)
    )


def _compare_listed(
    comparison: "Comparison", written: Written, reader: Node, name: str
) -> Findings:
    asked = reader.child(reader.words["properties"][name])
    found = comparison.compare(written.nodes, asked)
    if not found or written.listed:
        return found
    if written.nodes:
        message = (
            f"property {shown(name)} is new in the reader; the writer may have written it otherwise"
        )
        kind = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
        return found + finding(kind, "", message)
    needed = name in reader.words.get("required", ())
    kind = (
        "OPTIONAL"
        if not needed
        else "REQUIRED_PROPERTY_WITH_DEFAULT"
        if has_default(asked)
        else "REQUIRED"
    )
    kind = kind if kind.endswith("DEFAULT") else f"{kind}_PROPERTY"
    message = (
        f"property {shown(name)} is new in the reader, but the writer takes any properties and may "
        f"have written it as something else: {found[0].message} "
        "(a writer with additionalProperties: false could not)"
    )
    return finding(f"{kind}_ADDED_TO_OPEN_CONTENT_MODEL", "", message)


def _compare_elsewhere(
    comparison: "Comparison", written: Written, reader: Node, name: str
) -> Findings:
    """By the reader's patterns, and by what it says of other names."""
    found: Findings = []
    matched = name in reader.words.get("properties", {})
    path = "/properties" + step(name)
    for pattern, raw in reader.words.get("patternProperties", {}).items():
        comparison.budget.step()
        hit = patterns.matches(pattern, name)
        if hit is not False:
            found += under(path, comparison.compare(written.nodes, reader.child(raw)))
        matched = matched or bool(hit)
    other = None if matched else reader.one("additionalProperties")
    if other is FALSE:
        if comparison.impossible(written.nodes):
            return found
        message = f"property {shown(name)} is gone from the reader, which takes no other properties"
        return finding("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", path, message)
    if other is not None:
        found += under(path, comparison.compare(written.nodes, other))
    if found and name not in reader.words.get("properties", {}):
        message = f"property {shown(name)} is gone from the reader, which takes other values there"
        found += finding(
            "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path, message
        )
    return found


def _unlisted(part: Node, reader: Node, pattern: str | None) -> list[Node | None]:
    """What a name that nobody lists may hold, by one part of the writer; None: anything.

    With a pattern: only names that match it; else only those that no pattern of the reader takes.
    """
    own = part.words.get("patternProperties", {})
    if pattern in own:
        return [part.child(own[pattern])]
    theirs = reader.words.get("patternProperties", {}) if pattern is None else {}
    return [
        part.one("additionalProperties"),
        *(part.child(own[text]) for text in own if text not in theirs),
    ]


def _compare_unlisted(
    comparison: "Comparison", writer: Facts, reader: Node, asked: Node, pattern: str | None
) -> tuple[Findings, bool]:
    """One part of the writer that keeps all such names in bounds is enough. And: is it open?"""
    best: Findings | None = None
    is_open = True
    for part in writer.parts:
        options = _unlisted(part, reader, pattern)
        if None in options:
            continue
        found = [
            each for option in options if option for each in comparison.compare((option,), asked)
        ]
        if not found:
            return [], False
        best, is_open = found, False
    return (comparison.compare((), asked) if best is None else best), is_open


def _compare_patterns(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    found: Findings = []
    for pattern, asked in reader.named("patternProperties").items():
        reasons, is_open = _compare_unlisted(comparison, writer, reader, asked, pattern)
        if reasons:
            path = "/patternProperties" + step(pattern)
            model = (
                "OPTIONAL_PROPERTY_ADDED_TO_OPEN"
                if is_open
                else "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN"
            )
            message = f"the reader does not take all that may be written under {shown(pattern)}"
            found += finding(f"{model}_CONTENT_MODEL", path, f"{message}: {reasons[0].message}")
    return found


def _compare_others(comparison: "Comparison", writer: Facts, reader: Node, word: str) -> Findings:
    asked = reader.one("additionalProperties")
    if asked is None:
        return []
    reasons, is_open = _compare_unlisted(comparison, writer, reader, asked, None)
    if not reasons:
        return []
    kind = "ADDITIONAL_PROPERTIES" if word == "additionalProperties" else "UNEVALUATED_PROPERTIES"
    if asked is FALSE:
        message = (
            "the writer may write properties that the reader does not list, and it takes no others"
        )
        return finding(f"{kind}_REMOVED", "/" + word, message)
    if is_open:
        message = "the writer may write any other properties, the reader does not take all: "
        return finding(f"{kind}_NARROWED", "/" + word, message + reasons[0].message)
    return under("/" + word, reasons)


def _compare_spelling(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    asked = reader.one("propertyNames")
    if asked is None:
        return []
    known = tuple(
        part.child(part.words["propertyNames"])
        for part in writer.parts
        if "propertyNames" in part.words
    )
    reasons = comparison.compare((*known, comparison.text), asked)
    if not reasons:
        return []
    message = f"the reader does not take all names that the writer may use: {reasons[0].message}"
    return finding("SCHEMA_ADDED", "/propertyNames", message)
