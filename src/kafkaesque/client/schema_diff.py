"""What has changed between two schemas: field by field, and line by line.

    + volume: long = 0
    - bid: double
    ~ price: type int → long
    ~ price: default none → 0.0

Field by field for Avro and JSON Schema (schema_fields.py); for Protobuf, and for two schemas of
different types, the lines alone. A Verdict says who can read whom; the registry's checkers know,
and whoever compares asks them. Pure. Above: cli/schema/, the console's page of a subject.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import Literal, NamedTuple

from kafkaesque.client.schema_fields import Facts, fields_of

SIGNS = {"added": "+", "removed": "-", "changed": "~"}
WHOLE = "(the schema)"


@dataclass(frozen=True, slots=True)
class Change:
    """`path` is a field; `text` is what it is, or was, or what of it has become what."""

    kind: Literal["added", "removed", "changed"]
    path: str
    text: str

    def __str__(self) -> str:
        return f"{SIGNS[self.kind]} {self.path or WHOLE}: {self.text}"


class Version(NamedTuple):
    """A schema and what to call it."""

    label: str
    schema_type: str
    text: str


@dataclass(frozen=True, slots=True)
class SchemaDiff:
    """`changes` is None where fields cannot be told; `lines` is empty if the texts are equal."""

    changes: tuple[Change, ...] | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Backward: whether the new one reads what the old one wrote; forward: the other way round.

    `is_compatible` is None where nobody can tell; the reason is then why not.
    """

    direction: Literal["backward", "forward"]
    is_compatible: bool | None
    reasons: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        if self.is_compatible is None:
            return "nobody can tell"
        can = "can read what" if self.is_compatible else "CANNOT read all that"
        if self.direction == "backward":
            return f"the new schema {can} the old one wrote"
        return f"the old schema {can} the new one writes"


def schema_diff(old: Version, new: Version) -> SchemaDiff:
    lines = unified_diff(
        readable(old.schema_type, old.text).splitlines(),
        readable(new.schema_type, new.text).splitlines(),
        old.label,
        new.label,
        lineterm="",
    )
    return SchemaDiff(_changes(old, new), tuple(lines))


def readable(schema_type: str, text: str) -> str:
    """The text as people read it: JSON indented, Protobuf as it is."""
    if schema_type == "PROTOBUF":
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _changes(old: Version, new: Version) -> tuple[Change, ...] | None:
    if old.schema_type != new.schema_type:
        return None
    before, after = (fields_of(each.schema_type, each.text) for each in (old, new))
    if before is None or after is None:
        return None
    removed = [
        Change("removed", path, _described(facts))
        for path, facts in before.items()
        if path not in after
    ]
    added = [
        Change("added", path, _described(facts))
        for path, facts in after.items()
        if path not in before
    ]
    changed = [
        Change("changed", path, text)
        for path, facts in after.items()
        if path in before
        for text in _differences(before[path], facts)
    ]
    return (*removed, *added, *changed)


def _described(facts: Facts) -> str:
    """`long = 0`, and then whatever else is known of it."""
    default = f" = {facts['default']}" if "default" in facts else ""
    more = [
        name if value == "yes" else f"{name} {value}"
        for name, value in facts.items()
        if name not in ("type", "default")
    ]
    return f"{facts['type']}{default}" + (f" ({'; '.join(more)})" if more else "")


def _differences(before: Facts, after: Facts) -> Iterator[str]:
    for name in dict.fromkeys((*after, *before)):
        was, is_now = before.get(name, "none"), after.get(name, "none")
        if was == is_now:
            continue
        if name == "required":
            yield "now required" if is_now == "yes" else "no longer required"
        else:
            yield f"{name} {was} → {is_now}"
