"""What can happen to the catalog: each change is one record of the topic.

Pure. Above: catalog.py, log_records.py, decisions/. Below: entries.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.registry.entries import Association, JsonObject, Resource, Version


@dataclass(frozen=True, slots=True)
class VersionSet:
    """Registered, or deleted softly."""

    version: Version


@dataclass(frozen=True, slots=True)
class VersionRemoved:
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class SubjectDeleted:
    """Softly: all versions up to this one."""

    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class ConfigSet:
    """Of a subject, a context, or everything (None). No config: back to what is above it."""

    subject: str | None
    config: JsonObject | None


@dataclass(frozen=True, slots=True)
class ModeSet:
    subject: str | None
    mode: str | None


@dataclass(frozen=True, slots=True)
class AssociationSet:
    resource: Resource
    association: Association | None


@dataclass(frozen=True, slots=True)
class HighestIds:
    """The highest ids ever given, by context: none is given twice, though its schema be removed."""

    ids: Mapping[str, int]


Change: TypeAlias = (
    VersionSet | VersionRemoved | SubjectDeleted | ConfigSet | ModeSet | AssociationSet | HighestIds
)
