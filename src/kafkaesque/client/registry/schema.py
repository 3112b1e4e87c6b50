"""The nouns of a registry: a schema, what it refers to, and the place where one is registered.

The same as JSON, as Confluent's REST API writes it:

    {"schema": "…", "schemaType": "JSON", "references": [{"name": …, "subject": …, "version": …}],
     "metadata": {…}, "ruleSet": {…}, "subject": …, "version": …, "id": …, "guid": …}

A schemaType that is missing is AVRO. Above: client.py. Below: nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, cast

SchemaKind: TypeAlias = Literal["AVRO", "JSON", "PROTOBUF"]


class Reference(NamedTuple):
    """`name` is what the schema that refers calls it: a type, a URI, or the file of an import."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """`metadata` and `rule_set` are as the registry has them; nothing here looks inside."""

    text: str
    type: SchemaKind = "AVRO"
    references: tuple[Reference, ...] = ()
    metadata: dict[str, Any] | None = field(default=None, hash=False)
    rule_set: dict[str, Any] | None = field(default=None, hash=False)

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"schema": self.text}
        if self.type != "AVRO":
            told["schemaType"] = self.type
        if self.references:
            told["references"] = [reference._asdict() for reference in self.references]
        if self.metadata is not None:
            told["metadata"] = self.metadata
        if self.rule_set is not None:
            told["ruleSet"] = self.rule_set
        return told


class Registered(NamedTuple):
    """A schema in its subject. The version is 0 where the registry did not tell it."""

    subject: str
    version: int
    id: int
    schema: Schema
    guid: str | None = None


def schema_of(told: Mapping[str, Any]) -> Schema:
    """Raises KeyError if there is no text in it."""
    return Schema(
        told["schema"],
        cast(SchemaKind, told.get("schemaType") or "AVRO"),
        tuple(
            Reference(each["name"], each["subject"], each["version"])
            for each in told.get("references") or ()
        ),
        told.get("metadata"),
        told.get("ruleSet"),
    )


def registered_of(
    told: Mapping[str, Any], subject: str, schema: Schema | None = None
) -> Registered:
    """`subject` and `schema` are what was asked for: an older registry tells the id alone."""
    return Registered(
        told.get("subject") or subject,
        told.get("version") or 0,
        told["id"],
        schema if "schema" not in told and schema is not None else schema_of(told),
        told.get("guid"),
    )
