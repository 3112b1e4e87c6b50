"""Whether a new schema may follow those of its subject, by the subject's level.

    level      who must be able to read what             with _TRANSITIVE
    BACKWARD   the new schema, what the last one wrote   … what every earlier one wrote
    FORWARD    the last one, what the new schema writes  every earlier one …
    FULL       both                                      both
    NONE       nobody

Above: decisions/, routes/. Below: parsing.py, kinds.py.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.entries import Schema, Version
from kafkaesque.registry.kinds import kind_of
from kafkaesque.registry.parsing import parsed
from kafkaesque.registry.problems import invalid_level, invalid_schema
from kafkaesque.registry.schema_text import Incompatibility, InvalidSchemaError, ParsedSchema

_MOST_REASONS = 50


class Level(StrEnum):
    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        return self.endswith("_TRANSITIVE")

    @property
    def looks_back(self) -> bool:
        return self.startswith(("BACKWARD", "FULL"))

    @property
    def looks_forward(self) -> bool:
        return self.startswith(("FORWARD", "FULL"))


def level_named(name: object) -> Level:
    # None is no level, though its name would be one.
    if not isinstance(name, str):
        raise invalid_level(name)
    try:
        return Level(name.upper())
    except ValueError:
        raise invalid_level(name) from None


def reasons(
    catalog: Catalog, subject: str, schema: Schema, against: Sequence[Version] | None = None
) -> list[str]:
    """Why this schema may not follow; none: it may.

    `against` are the versions to compare with, in order; else those that the level names.
    Raises ProblemError if the schema is none.
    """
    config = catalog.config(subject)
    level = level_named(config.get("compatibilityLevel"))
    if against is None:
        group = config.get("compatibilityGroup")
        known = [
            it
            for it in catalog.versions(subject)
            if _group(it.schema, group) == _group(schema, group)
        ]
        against = known if level.is_transitive else known[-1:]
    new = parsed(catalog, subject, schema)
    if level is Level.NONE:
        return []
    found: list[str] = []
    for version in reversed(against):
        found += _compare(catalog, level, schema, new, version)
        if len(found) > _MOST_REASONS:
            return [*found[:_MOST_REASONS], f"… and more, at least {len(found) - _MOST_REASONS}"]
    return found


def _group(schema: Schema, group: object) -> object:
    """A property of the metadata: versions of different groups need not be compatible."""
    if not group:
        return None
    return ((schema.metadata or {}).get("properties") or {}).get(group)


def _compare(
    catalog: Catalog, level: Level, schema: Schema, new: ParsedSchema, version: Version
) -> Iterator[str]:
    if schema.type is not version.schema.type:
        yield (
            f"the new schema is {schema.type}, version {version.version} is {version.schema.type}: "
            "neither can read the other"
        )
        return
    old = parsed(catalog, version.subject, version.schema)
    compare = kind_of(schema.type).incompatibilities
    try:
        if level.looks_back:
            for each in compare(new, old):
                yield _reason(f"The new schema cannot read data of version {version.version}", each)
        if level.looks_forward:
            for each in compare(old, new):
                yield _reason(f"Version {version.version} cannot read data of the new schema", each)
    except InvalidSchemaError as error:
        raise invalid_schema(str(error)) from None


def _reason(who: str, found: Incompatibility) -> str:
    return f"{who}: {found.message} ({found.kind} at {found.path or '/'})"
