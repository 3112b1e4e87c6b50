"""All subjects of a registry with what there is to know of each, for lists.

The REST API tells it subject by subject: several are asked at a time.
Above: cli/schema/, the console. Below: registry/.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from kafkaesque.client.registry import RegistryClient, RegistryError

AT_A_TIME = 8


@dataclass(frozen=True, slots=True)
class Subject:
    """`compatibility` is the level that holds; `deleted` are versions that are softly deleted."""

    name: str
    versions: tuple[int, ...]
    latest_id: int
    schema_type: str
    compatibility: str
    deleted: tuple[int, ...] = ()


def subjects(registry: RegistryClient, prefix: str = "", *, deleted: bool = False) -> list[Subject]:
    """Sorted by name; `deleted`: also what is softly deleted, whole subjects included."""
    names = sorted(registry.subjects(prefix=prefix, deleted=deleted))
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        found = threads.map(lambda name: subject_named(registry, name, deleted=deleted), names)
        return [each for each in found if each is not None]


def subject_named(registry: RegistryClient, name: str, *, deleted: bool = False) -> Subject | None:
    """None if there is none of that name, or no longer."""
    every = _versions(registry, name, deleted=deleted)
    living = _versions(registry, name) if deleted else every
    if not every:
        return None
    latest = registry.version(name, max(living or every), deleted=deleted)
    return Subject(
        name,
        tuple(living),
        latest.id,
        latest.schema.type,
        level(registry.config(name)),
        tuple(each for each in every if each not in living),
    )


def _versions(registry: RegistryClient, name: str, *, deleted: bool = False) -> list[int]:
    try:
        return sorted(registry.versions(name, deleted=deleted))
    except RegistryError as error:
        if error.is_unknown:
            return []
        raise


def level(config: dict[str, Any]) -> str:
    """The compatibility level in a registry's answer about its configuration."""
    return str(config.get("compatibilityLevel") or config.get("compatibility") or "BACKWARD")
