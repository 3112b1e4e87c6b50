"""A subject and one version of it, with all that its page shows. These calls block.

Above: pages/subject.py. Below: client/registry.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkaesque.client.registry import Registered, RegistryClient, RegistryError, Schema
from kafkaesque.client.schema_diff import SchemaDiff, Verdict, Version, schema_diff
from kafkaesque.client.subjects import level
from kafkaesque.console.schemas import Judge

NO_LEVEL = 40408


@dataclass(frozen=True, slots=True)
class SubjectDetails:
    """`level` is its own compatibility level, None if it follows the global one."""

    versions: tuple[int, ...]
    latest: Registered
    level: str | None
    global_level: str
    mode: str


@dataclass(frozen=True, slots=True)
class VersionDetails:
    """`referrers` are the subjects and versions that refer to it."""

    registered: Registered
    referrers: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    diff: SchemaDiff
    verdicts: Sequence[Verdict]


def subject_details(registry: RegistryClient, name: str) -> SubjectDetails | None:
    """None if there is no such subject, or no longer."""
    try:
        versions = registry.versions(name)
        latest = registry.version(name, "latest")
    except RegistryError as error:
        if error.is_unknown:
            return None
        raise
    return SubjectDetails(
        tuple(sorted(versions)),
        latest,
        _own_level(registry, name),
        level(registry.config()),
        registry.mode(name),
    )


def version_details(registry: RegistryClient, name: str, version: int) -> VersionDetails:
    referrers = [
        place
        for number in registry.referenced_by(name, version)
        for place in registry.places(number)
    ]
    return VersionDetails(registry.version(name, version), tuple(sorted(set(referrers))))


def comparison(registry: RegistryClient, judge: Judge, name: str, old: int, new: int) -> Comparison:
    before, after = (registry.version(name, number).schema for number in (old, new))
    diff = schema_diff(_labelled(old, before), _labelled(new, after))
    return Comparison(diff, judge(registry, before, after))


def _labelled(version: int, schema: Schema) -> Version:
    return Version(f"version {version}", schema.type, schema.text)


def _own_level(registry: RegistryClient, name: str) -> str | None:
    try:
        return level(registry.config(name, default_to_global=False))
    except RegistryError as error:
        if error.code != NO_LEVEL:
            raise
        return None
