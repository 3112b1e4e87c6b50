"""The schema that a query reads by: found on the driver when the query begins, kept by every task.

It is the latest version of the subject at that moment, with all that it refers to, so that no task
asks a registry for it, and a version that is registered later changes no column of a running query.
Above: pyspark_kafkaesque, values.py. Below: asked.py, client/registry/, avro.py, protobuf.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from kafkaesque.client.registry import Reference, RegistryClient, RegistryError, Schema
from kafkaesque.client.schemas import Resolve, resolver
from kafkaesque.client.schemas.codec import SERIALIZED
from kafkaesque.pipelines.source.decoding.asked import Asked
from kafkaesque.pipelines.source.security import OptionsError


@dataclass(frozen=True, slots=True)
class Pinned:
    """`referred`: the schemas that it refers to, also by way of others."""

    schema_id: int
    schema: Schema
    referred: tuple[tuple[Reference, Schema], ...] = ()


def pinned(asked: Asked) -> Pinned:
    """Raises OptionsError, RegistryAwayError."""
    subject = asked.subject
    assert subject is not None
    with RegistryClient(asked.registry) as registry:
        try:
            place = registry.version(subject)
            schema = place.schema
            if schema.type.lower() != asked.form:
                raise OptionsError(
                    f"subject {subject} has a schema of {schema.type}: "
                    f"give decode={schema.type.lower()}"
                )
            if schema.type == "PROTOBUF":
                schema = registry.schema(place.id, subject=subject, format=SERIALIZED)
        except RegistryError as error:
            if not error.is_unknown:
                raise
            raise OptionsError(
                f"the registry at {registry.where} has no subject {subject}: register a schema, "
                "or give subject"
            ) from None
        seen: dict[Reference, Schema] = {}
        kind_of(schema, _noted(resolver(registry), seen), asked.form)
        return Pinned(place.id, schema, tuple(seen.items()))


def kind_of(schema: Schema, resolve: Resolve, form: str) -> pa.StructType:
    """What values of this schema mean. Raises OptionsError if they cannot be columns."""
    try:
        if form == "avro":
            from kafkaesque.pipelines.source.decoding.avro import avro_type

            return avro_type(schema, resolve)
        if form == "protobuf":
            from kafkaesque.pipelines.source.decoding.protobuf import protobuf_type

            return protobuf_type(schema, resolve)
        from kafkaesque.pipelines.source.decoding.json_schemas import json_type

        return json_type(schema, resolve)
    except ValueError as error:
        raise OptionsError(f"of this schema no columns can be made: {error}") from None


def resolve_of(pinned: Pinned, registry: RegistryClient) -> Resolve:
    """First what is kept, then what the registry has."""
    return _kept(dict(pinned.referred), resolver(registry))


def known_alone(pinned: Pinned) -> Resolve:
    """Of nobody but what is kept: that is all there is to ask for."""
    return _kept(dict(pinned.referred), _unasked)


def _unasked(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
    raise ValueError(f"{reference.name} is not among the references of the schema")


def _noted(ask: Resolve, seen: dict[Reference, Schema]) -> Resolve:
    def resolve(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
        seen[reference] = ask(reference, format)
        return seen[reference]

    return resolve


def _kept(known: Mapping[Reference, Schema], ask: Resolve) -> Resolve:
    def resolve(reference: Reference, format: str | None = None) -> Schema:  # noqa: A002
        return known[reference] if reference in known else ask(reference, format)

    return resolve
