"""Arrays: the first items one by one, the items after them, how many, all unlike, `contains`.

`items` as one schema is the rest of a list without first items; prefixItems and items of 2020-12
are items and additionalItems of the drafts before.
Above: compare.py. Below: facts.py.
"""

from typing import TYPE_CHECKING

from kafkaesque.registry.jsonschema.compare_scalars import compare_counts
from kafkaesque.registry.jsonschema.drafts import Draft
from kafkaesque.registry.jsonschema.facts import Facts, rows_of
from kafkaesque.registry.jsonschema.findings import Findings, finding, step, under
from kafkaesque.registry.jsonschema.nodes import FALSE, Node
from kafkaesque.registry.jsonschema.values import shown

if TYPE_CHECKING:
    from kafkaesque.registry.jsonschema.compare import Comparison


def compare_arrays(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    if "array" not in writer.types:
        return []
    found = _compare_items(comparison, writer, reader)
    found += compare_counts(writer, reader, "Items", "items")
    if reader.words.get("uniqueItems") is True and not _all_unlike(writer):
        message = "the reader wants all items to differ, the writer may write the same one twice"
        found += finding("UNIQUE_ITEMS_ADDED", "/uniqueItems", message)
    return found + _compare_contains(comparison, writer, reader)


def _all_unlike(writer: Facts) -> bool:
    most = writer.most("maxItems")
    return (most is not None and most <= 1) or any(
        part.words.get("uniqueItems") is True for part in writer.parts
    )


def _compare_items(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    rows, rest = rows_of(reader, strict=True)
    if not rows and rest is None:
        return []
    before = max((len(rows_of(part)[0]) for part in writer.parts), default=0)
    most = writer.most("maxItems")
    found: Findings = []
    word = "prefixItems" if reader.draft is Draft.D2020 else "items"
    for index in range(max(len(rows), before)):
        comparison.budget.step(1 + len(writer.parts))
        asked = rows[index] if index < len(rows) else rest
        if asked is not None and (most is None or index < most):
            path = step(word) + step(index)
            found.extend(
                under(path, _compare_row(comparison, writer, asked, index, before, len(rows)))
            )
    if rest is not None and (most is None or most > max(len(rows), before)):
        found.extend(_compare_rest(comparison, writer, reader, rest, plain=not rows))
    return found


def _written_item(writer: Facts, index: int) -> tuple[Node, ...]:
    """What the writer says of the item at `index`; empty: anything."""
    found = []
    for part in writer.parts:
        rows, rest = rows_of(part)
        asked = rows[index] if index < len(rows) else rest
        if asked is not None:
            found.append(asked)
    return tuple(found)


def _compare_row(
    comparison: "Comparison", writer: Facts, asked: Node, index: int, before: int, after: int
) -> Findings:
    written = _written_item(writer, index)
    found = comparison.compare(written, asked)
    if not found or (index < before and index < after):
        return found
    if index >= before:
        if not written:
            message = (
                f"the writer may write anything as item {index}, the reader does not take all: "
            )
            return finding("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "", message + found[0].message)
        kind = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
        return found + finding(
            kind, "", f"item {index} is new in the reader, which does not take all of them"
        )
    if asked is FALSE:
        message = f"the writer may write an item {index}, and the reader takes fewer items"
        return finding("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", "", message)
    kind = "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    return found + finding(
        kind, "", f"item {index} is gone from the reader, whose other items do not cover it"
    )


def _compare_rest(
    comparison: "Comparison", writer: Facts, reader: Node, rest: Node, *, plain: bool
) -> Findings:
    written = _written_item(writer, 1 << 60)
    found = comparison.compare(written, rest)
    if not found:
        return []
    word = _rest_word(reader)
    name = "UNEVALUATED_ITEMS" if word == "/unevaluatedItems" else "ADDITIONAL_ITEMS"
    if rest is FALSE:
        return finding(
            f"{name}_REMOVED", word, "the writer may write more items than the reader takes"
        )
    if written:
        return under(word, found)
    message = f"the writer may write any items, the reader does not take all: {found[0].message}"
    kind = "SCHEMA_ADDED" if plain and word == "/items" else f"{name}_NARROWED"
    return finding(kind, word, message)


def _rest_word(reader: Node) -> str:
    if reader.draft is Draft.D2020 or not isinstance(reader.words.get("items"), list):
        return "/items" if "items" in reader.words else "/unevaluatedItems"
    return "/additionalItems" if "additionalItems" in reader.words else "/unevaluatedItems"


def _compare_contains(comparison: "Comparison", writer: Facts, reader: Node) -> Findings:
    asked = reader.one("contains")
    if asked is None:
        return []
    found: Findings = []
    least = reader.words.get("minContains", 1)
    known = [part for part in writer.parts if "contains" in part.words]
    if least > 0:
        enough = [part for part in known if part.words.get("minContains", 1) >= least]
        every_fits = writer.least("minItems") >= least and not comparison.compare(
            _any_item(writer), asked
        )
        if not every_fits and not any(
            not comparison.compare((part.child(part.words["contains"]),), asked) for part in enough
        ):
            message = f"the reader asks for {shown(least)} items that fit `contains`"
            message += ", the writer may write fewer"
            word = "/minContains" if "minContains" in reader.words else "/contains"
            kind = "SCHEMA_ADDED" if not known or word == "/contains" else "MIN_CONTAINS_INCREASED"
            found += finding(kind, word, message)
    if "maxContains" in reader.words:
        most = reader.words["maxContains"]
        items = writer.most("maxItems")
        bound = [part for part in known if part.words.get("maxContains", most + 1) <= most]
        if (items is None or items > most) and not any(
            not comparison.compare((asked,), part.child(part.words["contains"])) for part in bound
        ):
            kind = "MAX_CONTAINS_" + ("DECREASED" if writer.has("maxContains") else "ADDED")
            found += finding(
                kind,
                "/maxContains",
                f"the reader takes at most {shown(most)} items that fit `contains`",
            )
    return found


def _any_item(writer: Facts) -> tuple[Node, ...]:
    """What holds for every item, where there are no first ones."""
    if any(rows_of(part)[0] for part in writer.parts):
        return ()
    return _written_item(writer, 0)
