"""Changes as records of the topic `_schemas`, in Confluent's own form: JSON keys and values.

    {"keytype":"SCHEMA","subject":"ticks-value","version":1,"magic":1}
    {"subject":"ticks-value","version":1,"id":1,…,"deleted":false}

The order of the fields in a key matters: records are compacted by its bytes.

A null value removes what its key names. NOOP records of ours carry the highest ids; Confluent's
registry skips all NOOPs. What cannot be read is left out, with a reason: one bad record must not
keep a registry from starting.
Pure. Above: reading.py, writing.py. Below: changes.py.
"""

from typing import Any

import orjson

from kafkaesque.registry import changes as to
from kafkaesque.registry.entries import (
    Association,
    JsonObject,
    Reference,
    Resource,
    Schema,
    Version,
)
from kafkaesque.registry.names import normal
from kafkaesque.registry.schema_text import SchemaType

_TENANT = "default"


class UnreadableRecordError(ValueError):
    """Not a record of a registry, or of one that knows more than this one."""


def encode(change: to.Change) -> tuple[bytes, bytes | None]:
    key, value = _encoded(change)
    return orjson.dumps(key), None if value is None else orjson.dumps(value)


def decode(key: bytes | None, value: bytes | None) -> to.Change | None:
    """None: nothing changes. Raises UnreadableRecordError."""
    try:
        names = orjson.loads(key or b"")
        return _decoded(names, None if value is None else orjson.loads(value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableRecordError(f"{type(error).__name__}: {error}") from None


def _encoded(change: to.Change) -> tuple[dict[str, Any], dict[str, Any] | None]:
    match change:
        case to.VersionSet(version):
            value = {**version.to_json(), "deleted": version.deleted}
            return _schema_key(version.subject, version.version), value
        case to.VersionRemoved(subject, number):
            return _schema_key(subject, number), None
        case to.SubjectDeleted(subject, number):
            return _key("DELETE_SUBJECT", subject), {"subject": subject, "version": number}
        case to.ConfigSet(subject, config):
            return _key("CONFIG", subject), _value(subject, config)
        case to.ModeSet(subject, mode):
            return _key("MODE", subject), _value(subject, None if mode is None else {"mode": mode})
        case to.AssociationSet(resource, association):
            return _association_key(resource), _association_value(association)
        case to.HighestIds(ids):
            return {"keytype": "NOOP", "magic": 0}, {"highestIds": dict(ids)}


def _key(kind: str, subject: str | None) -> dict[str, Any]:
    return {"keytype": kind, "subject": subject, "magic": 0}


def _value(subject: str | None, fields: JsonObject | None) -> dict[str, Any] | None:
    return None if fields is None else {"subject": subject, **fields}


def _schema_key(subject: str, version: int) -> dict[str, Any]:
    return {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}


def _association_key(resource: Resource) -> dict[str, Any]:
    return {
        "keytype": "ASSOC",
        "tenant": _TENANT,
        "resourceName": resource.name,
        "resourceNamespace": resource.namespace,
        "resourceType": resource.type,
        "associationType": resource.association_type,
        "magic": 0,
    }


def _association_value(association: Association | None) -> dict[str, Any] | None:
    return None if association is None else {"tenant": _TENANT, **association.to_json()}


def _decoded(key: dict[str, Any], value: dict[str, Any] | None) -> to.Change | None:
    match key["keytype"]:
        case "SCHEMA":
            subject, number = normal(key["subject"]), int(key["version"])
            if value is None:
                return to.VersionRemoved(subject, number)
            return to.VersionSet(_version(subject, number, value))
        case "DELETE_SUBJECT":
            return None if value is None else _subject_deleted(key, value)
        case "CONFIG":
            config = None if value is None else {k: v for k, v in value.items() if k != "subject"}
            return to.ConfigSet(_subject(key), config)
        case "MODE":
            return to.ModeSet(_subject(key), None if value is None else str(value["mode"]))
        case "ASSOC":
            return _association(key, value)
        case "NOOP":
            ids = (value or {}).get("highestIds")
            return to.HighestIds({str(k): int(v) for k, v in ids.items()}) if ids else None
        case "CONTEXT" | "CLEAR_SUBJECT":
            return None
    raise UnreadableRecordError(f"there is no key type {key['keytype']!r}")


def _subject(key: dict[str, Any]) -> str | None:
    subject = key.get("subject")
    return None if subject is None else normal(str(subject))


def _subject_deleted(key: dict[str, Any], value: dict[str, Any]) -> to.SubjectDeleted:
    return to.SubjectDeleted(normal(key["subject"]), int(value["version"]))


def _version(subject: str, number: int, value: dict[str, Any]) -> Version:
    schema = Schema(
        SchemaType(value.get("schemaType") or "AVRO"),
        str(value["schema"]),
        tuple(
            Reference(str(it["name"]), str(it["subject"]), int(it["version"]))
            for it in value.get("references") or ()
        ),
        value.get("metadata"),
        value.get("ruleSet"),
    )
    return Version(subject, number, int(value["id"]), schema, bool(value.get("deleted")))


def _association(key: dict[str, Any], value: dict[str, Any] | None) -> to.AssociationSet:
    resource = Resource(
        key["resourceName"], key["resourceNamespace"], key["resourceType"], key["associationType"]
    )
    if value is None:
        return to.AssociationSet(resource, None)
    association = Association(
        resource,
        str(value["resourceId"]),
        normal(str(value["subject"])),
        str(value["guid"]),
        value.get("lifecycle") == "STRONG",
        bool(value.get("frozen")),
    )
    return to.AssociationSet(resource, association)
