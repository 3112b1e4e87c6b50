"""Who can read whom, of two schemas: by the registry's own checkers, run here.

Above: diff.py, cli/console.py. Below: registry/kinds.py, which is pure; client/registry, for what
the schemas refer to.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from kafkaesque.client.schema_diff import Verdict
from kafkaesque.registry.kinds import kind_of
from kafkaesque.registry.schema_text import (
    Incompatibility,
    InvalidSchemaError,
    Referenced,
    SchemaType,
)

if TYPE_CHECKING:
    from kafkaesque.client.registry import Reference, RegistryClient, Schema

MAX_REFERENCES = 20
"""How deep schemas may refer to each other."""


def verdicts(registry: "RegistryClient", old: "Schema", new: "Schema") -> list[Verdict]:
    """Backward first: the new one as the reader."""
    if old.type != new.type:
        reason = f"one is {old.type} and the other {new.type}"
        return [Verdict("backward", False, (reason,)), Verdict("forward", False, (reason,))]
    parse, incompatibilities = kind_of(SchemaType(old.type))
    try:
        before, after = (
            parse(schema.text, referenced(registry, schema.references)) for schema in (old, new)
        )
        return [
            _verdict("backward", incompatibilities(after, before)),
            _verdict("forward", incompatibilities(before, after)),
        ]
    except InvalidSchemaError as error:
        unknown = (str(error),)
        return [Verdict("backward", None, unknown), Verdict("forward", None, unknown)]


def referenced(
    registry: "RegistryClient", references: "Sequence[Reference]"
) -> tuple[Referenced, ...]:
    """What a schema refers to, with all that those refer to, each asked for once."""
    known: dict[Reference, Referenced] = {}

    def look_up(each: "Reference", depth: int) -> Referenced:
        if depth > MAX_REFERENCES:
            raise InvalidSchemaError(f"schemas refer to each other more than {MAX_REFERENCES} deep")
        if each not in known:
            schema = registry.version(each.subject, each.version, deleted=True).schema
            below = tuple(look_up(inner, depth + 1) for inner in schema.references)
            known[each] = Referenced(each.name, schema.text, below)
        return known[each]

    return tuple(look_up(each, 1) for each in references)


def _verdict(
    direction: Literal["backward", "forward"], found: Sequence[Incompatibility]
) -> Verdict:
    return Verdict(direction, not found, tuple(each.message for each in found))
