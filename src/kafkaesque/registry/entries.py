"""What is registered: schemas, the versions of subjects, associations.

A schema is told apart by its `guid`: the MD5 of everything that belongs to it. Equal guids are
equal schemas, in every subject and context. `bare` leaves metadata and rules out.
Pure. Above: catalog.py, log_records.py, decisions/. Below: schema_text.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import orjson

from kafkaesque.registry.schema_text import SchemaType

JsonObject: TypeAlias = Mapping[str, Any]


class Reference(NamedTuple):
    """`name` is what the schema calls it: a type, a URI, a file."""

    name: str
    subject: str
    version: int

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    metadata: JsonObject | None = None
    rule_set: JsonObject | None = None
    guid: str = field(init=False)
    bare: str = field(init=False)

    def __post_init__(self) -> None:
        bare = [self.type, self.text, [list(reference) for reference in self.references]]
        object.__setattr__(self, "bare", _guid(bare))
        is_bare = not self.metadata and not self.rule_set
        whole = bare if is_bare else [*bare, self.metadata, self.rule_set]
        object.__setattr__(self, "guid", _guid(whole))

    def to_json(self) -> dict[str, Any]:
        """As answers and records have it: an Avro schema does not say its type."""
        answer: dict[str, Any] = {}
        if self.type is not SchemaType.AVRO:
            answer["schemaType"] = str(self.type)
        if self.references:
            answer["references"] = [reference.to_json() for reference in self.references]
        if self.metadata:
            answer["metadata"] = self.metadata
        if self.rule_set:
            answer["ruleSet"] = self.rule_set
        answer["schema"] = self.text
        return answer


@dataclass(frozen=True, slots=True)
class Version:
    """A schema under a subject. `deleted` softly: old records can still be read."""

    subject: str
    version: int
    id: int
    schema: Schema
    deleted: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "version": self.version,
            "id": self.id,
            "guid": self.schema.guid,
            **self.schema.to_json(),
        }


class Resource(NamedTuple):
    """What a subject is associated with, and in which way."""

    name: str
    namespace: str
    type: str
    association_type: str


@dataclass(frozen=True, slots=True)
class Association:
    """A strong one means that the subject belongs to the resource, and goes with it."""

    resource: Resource
    resource_id: str
    subject: str
    guid: str
    is_strong: bool = False
    frozen: bool = False

    @property
    def lifecycle(self) -> str:
        return "STRONG" if self.is_strong else "WEAK"

    def to_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "guid": self.guid,
            "resourceName": self.resource.name,
            "resourceNamespace": self.resource.namespace,
            "resourceId": self.resource_id,
            "resourceType": self.resource.type,
            "associationType": self.resource.association_type,
            "lifecycle": self.lifecycle,
            "frozen": self.frozen,
        }


def _guid(parts: Any) -> str:
    data = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
    return str(UUID(bytes=md5(data, usedforsecurity=False).digest()))
