"""A schema is registered under a subject, unless it is there already.

Equal schemas of a context share their id. A version number is one more than the last one that is
known, deleted softly or not. In import mode, ids and numbers are given from outside, and nothing is
compared: that is how registries are moved.
Pure. Above: routes/. Below: compatibility.py, parsing.py, defaults.py.
"""

from dataclasses import dataclass, replace

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.changes import VersionSet
from kafkaesque.registry.compatibility import reasons
from kafkaesque.registry.decisions import Decision
from kafkaesque.registry.decisions.defaults import with_defaults
from kafkaesque.registry.decisions.permission import Mode, require_writable
from kafkaesque.registry.entries import Schema, Version
from kafkaesque.registry.names import context_of, require_valid
from kafkaesque.registry.parsing import parsed
from kafkaesque.registry.problems import (
    id_does_not_match,
    incompatible,
    invalid_version,
    not_permitted,
)

_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Registration:
    """`id` and `version` are for import mode."""

    subject: str
    schema: Schema
    normalize: bool = False
    id: int | None = None
    version: int | None = None


def canonical(catalog: Catalog, subject: str, schema: Schema, *, normalize: bool) -> Schema:
    """As it would be stored. Raises ProblemError if it is no schema."""
    references = tuple(
        reference
        if reference.version >= 0
        else reference._replace(version=catalog.referred(subject, reference).version)
        for reference in schema.references
    )
    schema = replace(schema, references=references)
    found = parsed(catalog, subject, schema)
    normalize = normalize or bool(catalog.config(subject).get("normalize"))
    return replace(schema, text=found.normalized() if normalize else found.canonical)


def register(catalog: Catalog, request: Registration) -> Decision:
    """The answer is a Version."""
    subject = request.subject
    require_valid(subject)
    mode = require_writable(catalog, subject)
    schema = canonical(catalog, subject, request.schema, normalize=request.normalize)
    if mode is Mode.IMPORT:
        return _import(catalog, request, schema)
    schema = with_defaults(catalog, subject, schema)
    known = catalog.find(subject, schema)
    if known is not None and request.version in (None, known.version):
        if request.id not in (None, known.id):
            raise id_does_not_match(request.id or 0, known.id)
        return Decision(known)
    if request.id is not None and request.id != catalog.id_of(context_of(subject), schema):
        raise not_permitted(f"Subject {subject} is not in import mode: it gives the ids itself")
    number = catalog.last_number(subject) + 1
    if request.version not in (None, number):
        raise invalid_version(f"{request.version}: the next one is {number}")
    if why := reasons(catalog, subject, schema):
        raise incompatible(subject, why)
    return _put(catalog, Version(subject, number, _id_for(catalog, subject, schema), schema))


def _import(catalog: Catalog, request: Registration, schema: Schema) -> Decision:
    subject = request.subject
    context = context_of(subject)
    number = request.version
    if number is None:
        known = catalog.find(subject, schema)
        number = known.version if known else catalog.last_number(subject) + 1
    schema_id = request.id
    if schema_id is None:
        schema_id = _id_for(catalog, subject, schema)
    if not 0 < number <= _LARGEST or not 0 < schema_id <= _LARGEST:
        raise invalid_version(str(number))
    other = catalog.schema(context, schema_id)
    if other is not None and other.guid != schema.guid:
        raise not_permitted(f"Overwriting the schema with id {schema_id} is not permitted.")
    for version in catalog.versions(subject, deleted=True):
        if version.version == number and version.schema.guid != schema.guid:
            raise not_permitted(f"Overwriting version {number} of {subject} is not permitted.")
    return _put(catalog, Version(subject, number, schema_id, schema))


def _id_for(catalog: Catalog, subject: str, schema: Schema) -> int:
    context = context_of(subject)
    known = catalog.id_of(context, schema)
    return catalog.highest_id(context) + 1 if known is None else known


def _put(catalog: Catalog, version: Version) -> Decision:
    for known in catalog.versions(version.subject):
        is_there = known.version == version.version and known.id == version.id
        if is_there and known.schema.guid == version.schema.guid:
            return Decision(known)
    return Decision(version, (VersionSet(version),))
