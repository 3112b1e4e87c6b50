"""What is registered, as far as changes have been applied. In memory; every answer comes from here.

Ids belong to a context: equal schemas have one id there, whatever subjects they are under. An id
that has been given is never given again. One thread changes it; others may read meanwhile: each
question takes a copy of what it walks over, in one step of the interpreter.
Pure. Above: decisions/, routes/, journal.py. Below: changes.py.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from kafkaesque.registry import changes as to
from kafkaesque.registry.entries import (
    Association,
    JsonObject,
    Reference,
    Resource,
    Schema,
    Version,
)
from kafkaesque.registry.names import (
    DEFAULT_CONTEXT,
    GLOBAL_CONTEXT,
    context_of,
    is_whole_context,
    qualified,
    whole_context,
)
from kafkaesque.registry.problems import subject_not_found, version_not_found

K = TypeVar("K")
P = TypeVar("P")
V = TypeVar("V")

DEFAULT_LEVEL = "BACKWARD"
DEFAULT_MODE = "READWRITE"


class Catalog:
    def __init__(self) -> None:
        self.configs: dict[str | None, JsonObject] = {}
        self.modes: dict[str | None, str] = {}
        self.associations: dict[Resource, Association] = {}
        self._subjects: dict[str, dict[int, Version]] = {}
        """With the versions that are deleted softly."""
        self._places: dict[tuple[str, int], dict[tuple[str, int], Version]] = {}
        """By context and id: where that schema is registered."""
        self._ids: dict[tuple[str, str], int] = {}
        """By context and guid."""
        self._guids: dict[str, dict[tuple[str, int], Schema]] = {}
        """By guid: the contexts and ids that have it."""
        self._referrers: dict[tuple[str, int], dict[tuple[str, int], None]] = {}
        self._highest_ids: dict[str, int] = {}

    def copy(self) -> "Catalog":
        """One that changes by itself. What is registered is shared: it never changes."""
        twin = Catalog()
        twin.configs = dict(self.configs)
        twin.modes = dict(self.modes)
        twin.associations = dict(self.associations)
        twin._subjects = {name: dict(versions) for name, versions in self._subjects.items()}
        twin._places = {key: dict(places) for key, places in self._places.items()}
        twin._ids = dict(self._ids)
        twin._guids = {guid: dict(ids) for guid, ids in self._guids.items()}
        twin._referrers = {key: dict(referrers) for key, referrers in self._referrers.items()}
        twin._highest_ids = dict(self._highest_ids)
        return twin

    def __len__(self) -> int:
        """How many schemas there are."""
        return len(self._places)

    def apply(self, change: to.Change) -> None:
        match change:
            case to.VersionSet(version):
                self._put(version)
            case to.VersionRemoved(subject, number):
                self._remove(subject, number)
            case to.SubjectDeleted(subject, last):
                for version in list(self._subjects.get(subject, {}).values()):
                    if version.version <= last:
                        self._put(replace(version, deleted=True))
            case to.ConfigSet(subject, config):
                _put_or_remove(self.configs, subject, config)
            case to.ModeSet(subject, mode):
                _put_or_remove(self.modes, subject, mode)
            case to.AssociationSet(resource, association):
                _put_or_remove(self.associations, resource, association)
            case to.HighestIds(ids):
                for context, highest in ids.items():
                    self._raise_highest(context, highest)

    def subjects(self, prefix: str = "", *, deleted: bool = False) -> list[str]:
        """Those with a version, in order; `deleted`: also those with deleted ones only."""
        return sorted(
            name
            for name, versions in list(self._subjects.items())
            if name.startswith(prefix) and (deleted or _any_left(list(versions.values())))
        )

    def contexts(self) -> list[str]:
        return sorted({DEFAULT_CONTEXT, *map(context_of, list(self._subjects))})

    def versions(self, subject: str, *, deleted: bool = False) -> list[Version]:
        """In order; none if there is no such subject."""
        found = sorted(self._subjects.get(subject, {}).items())
        return [version for _, version in found if deleted or not version.deleted]

    def all_versions(self, prefix: str = "", *, deleted: bool = False) -> Iterator[Version]:
        for subject in self.subjects(prefix, deleted=deleted):
            yield from self.versions(subject, deleted=deleted)

    def version(self, subject: str, number: int | None, *, deleted: bool = False) -> Version:
        """None: the latest. Raises ProblemError."""
        known = self.versions(subject, deleted=deleted)
        if not known:
            raise subject_not_found(subject)
        if number is None:
            return known[-1]
        for version in known:
            if version.version == number:
                return version
        raise version_not_found(number)

    def last_number(self, subject: str) -> int:
        return max(list(self._subjects.get(subject, ())), default=0)

    def find(self, subject: str, schema: Schema, *, deleted: bool = False) -> Version | None:
        """Where this schema is under the subject, at its latest.

        One without metadata and rules is found whatever those of the registered one are.
        """
        is_bare = schema.guid == schema.bare
        for version in reversed(self.versions(subject, deleted=deleted)):
            known = version.schema
            if known.guid == schema.guid or (is_bare and known.bare == schema.bare):
                return version
        return None

    def places(self, context: str, schema_id: int) -> list[Version]:
        return list(self._places.get((context, schema_id), {}).values())

    def schema(self, context: str, schema_id: int) -> Schema | None:
        places = self.places(context, schema_id)
        return places[0].schema if places else None

    def ids_of(self, guid: str) -> list[tuple[str, int]]:
        """By context."""
        return list(self._guids.get(guid, ()))

    def id_of(self, context: str, schema: Schema) -> int | None:
        return self._ids.get((context, schema.guid))

    def highest_id(self, context: str) -> int:
        return self._highest_ids.get(context, 0)

    def highest_ids(self) -> dict[str, int]:
        """Of all contexts: of the records that say so, the topic keeps the last one only."""
        return dict(self._highest_ids)

    def referrers(self, subject: str, number: int) -> list[Version]:
        """Those who refer to it and are not deleted."""
        found = (
            self._subjects[who][which] for who, which in self._referrers.get((subject, number), ())
        )
        return [version for version in found if not version.deleted]

    def referred(self, referrer: str, reference: Reference) -> Version:
        """What is meant by a reference in a schema of that subject. Raises ProblemError."""
        subject = qualified(context_of(referrer), reference.subject)
        number = None if reference.version < 0 else reference.version
        return self.version(subject, number, deleted=True)

    def config(self, subject: str | None) -> JsonObject:
        """What holds for a subject: each field from where it is set nearest."""
        merged: dict[str, object] = {"compatibilityLevel": DEFAULT_LEVEL}
        for scope in reversed(_scopes(subject)):
            merged.update(self.configs.get(scope, {}))
        return merged

    def mode(self, subject: str | None) -> str:
        for scope in _scopes(subject):
            if scope in self.modes:
                return self.modes[scope]
        return DEFAULT_MODE

    def alias_of(self, subject: str) -> str:
        """The subject that is meant: one may stand for another."""
        alias = self.configs.get(subject, {}).get("alias")
        return qualified(context_of(subject), str(alias)) if alias else subject

    def _put(self, version: Version) -> None:
        place = (version.subject, version.version)
        if version.version in self._subjects.get(version.subject, {}):
            self._remove(*place)
        context = context_of(version.subject)
        guid = version.schema.guid
        self._subjects.setdefault(version.subject, {})[version.version] = version
        self._places.setdefault((context, version.id), {})[place] = version
        self._ids.setdefault((context, guid), version.id)
        self._guids.setdefault(guid, {})[(context, version.id)] = version.schema
        self._raise_highest(context, version.id)
        for target in self._targets(version):
            self._referrers.setdefault(target, {})[place] = None

    def _remove(self, subject: str, number: int) -> None:
        versions = self._subjects.get(subject, {})
        version = versions.pop(number, None)
        if version is None:
            return
        if not versions:
            del self._subjects[subject]
        for target in self._targets(version):
            _discard(self._referrers, target, (subject, number))
        context = context_of(subject)
        if _discard(self._places, (context, version.id), (subject, number)):
            guid = version.schema.guid
            _discard(self._guids, guid, (context, version.id))
            if self._ids.get((context, guid)) == version.id:
                del self._ids[context, guid]

    def _targets(self, version: Version) -> Iterable[tuple[str, int]]:
        context = context_of(version.subject)
        for reference in version.schema.references:
            yield qualified(context, reference.subject), reference.version

    def _raise_highest(self, context: str, schema_id: int) -> None:
        self._highest_ids[context] = max(schema_id, self._highest_ids.get(context, 0))


def _scopes(subject: str | None) -> list[str | None]:
    """Where to look for what holds for a subject, the nearest first."""
    if subject is None:
        return [None, GLOBAL_CONTEXT]
    context = whole_context(context_of(subject))
    near: list[str | None] = [context] if is_whole_context(subject) else [subject, context]
    return [*near, None, GLOBAL_CONTEXT]


def _any_left(versions: Iterable[Version]) -> bool:
    return any(not version.deleted for version in versions)


def _put_or_remove(table: dict[K, V], key: K, value: V | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _discard(table: dict[K, dict[P, V]], key: K, part: P) -> bool:
    """Whether nothing is left under the key."""
    parts = table.get(key, {})
    parts.pop(part, None)
    if parts:
        return False
    table.pop(key, None)
    return True
