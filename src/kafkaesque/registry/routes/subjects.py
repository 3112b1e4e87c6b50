"""/subjects: what is registered under names, and registering.

Above: app.py. Below: finding.py, decisions/.
"""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kafkaesque.registry import requests as asked
from kafkaesque.registry.answers import MEDIA_TYPE, answer
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.decisions.deleting import delete_subject, delete_version
from kafkaesque.registry.decisions.registering import canonical, register
from kafkaesque.registry.entries import Schema, Version
from kafkaesque.registry.names import DEFAULT_CONTEXT, context_of, plain_name
from kafkaesque.registry.parsing import formatted
from kafkaesque.registry.problems import (
    schema_not_found,
    subject_not_found,
    unreadable,
)
from kafkaesque.registry.routes.finding import found, parsed_ahead


def listed(request: Request, *, prefix: str | None, deleted: bool, deleted_only: bool) -> list[str]:
    """Names of subjects. Of one context, without a prefix, as they are called there."""
    catalog = asked.journal_of(request).catalog
    names = catalog.subjects(prefix or "", deleted=deleted or deleted_only)
    if deleted_only:
        names = [
            name for name in names if any(it.deleted for it in catalog.versions(name, deleted=True))
        ]
    within = asked.context(request)
    if within == DEFAULT_CONTEXT:
        return names
    return [plain_name(name) if context_of(name) == within else name for name in names]


async def subjects(request: Request) -> Response:
    names = listed(
        request,
        prefix=asked.prefix_of(request),
        deleted=asked.flag(request, "deleted"),
        deleted_only=asked.flag(request, "deletedOnly", "deleted_only"),
    )
    return answer(asked.page(request, names))


async def look_up(request: Request) -> Response:
    """Whether a schema is under a subject, and as which version."""
    journal = asked.journal_of(request)
    subject = asked.meant_subject(request)
    schema = asked.schema_in(await asked.body(request))
    normalize = asked.flag(request, "normalize")
    deleted = asked.flag(request, "deleted")
    await parsed_ahead(journal, subject, schema)

    def question(catalog: Catalog) -> Version:
        if not catalog.versions(subject, deleted=deleted):
            raise subject_not_found(subject)
        version = catalog.find(
            subject, canonical(catalog, subject, schema, normalize=normalize), deleted=deleted
        )
        if version is None:
            raise schema_not_found()
        return version

    return _one(request, await found(journal, question))


async def register_version(request: Request) -> Response:
    journal = asked.journal_of(request)
    subject = asked.meant_subject(request)
    registration = asked.registration_in(
        await asked.body(request), subject, normalize=asked.flag(request, "normalize")
    )
    await parsed_ahead(journal, subject, registration.schema)
    known = None
    if registration.id is None and registration.version is None:
        # Most who register ask for what is there: that needs no turn to write.
        catalog = journal.catalog
        schema = canonical(catalog, subject, registration.schema, normalize=registration.normalize)
        known = catalog.find(subject, schema)
    if known is None:
        known = await journal.change(partial(register, request=registration))
    return answer(_registered(known, registration.schema))


async def versions(request: Request) -> Response:
    subject = asked.meant_subject(request)
    deleted = asked.flag(request, "deleted")
    only = asked.flag(request, "deletedOnly", "deleted_only")

    def question(catalog: Catalog) -> list[int]:
        known = catalog.versions(subject, deleted=deleted or only)
        if not known:
            raise subject_not_found(subject)
        return [it.version for it in known if it.deleted or not only]

    return answer(asked.page(request, await found(asked.journal_of(request), question)))


async def version(request: Request) -> Response:
    return _one(request, await _version(request))


async def version_text(request: Request) -> Response:
    found_version = await _version(request)
    return Response(_text(request, found_version), media_type=MEDIA_TYPE)


async def referenced_by(request: Request) -> Response:
    wanted = await _version(request)
    catalog = asked.journal_of(request).catalog
    ids = sorted({it.id for it in catalog.referrers(wanted.subject, wanted.version)})
    return answer(asked.page(request, ids))


async def latest_with_metadata(request: Request) -> Response:
    """The latest version whose metadata has these properties: `?key=a&value=1&key=b&value=2`."""
    subject = asked.meant_subject(request)
    keys = request.query_params.getlist("key")
    values = request.query_params.getlist("value")
    if len(keys) != len(values):
        raise unreadable("each key needs a value: ?key=…&value=…")
    wanted = dict(zip(keys, values, strict=True))
    deleted = asked.flag(request, "deleted")

    def question(catalog: Catalog) -> Version:
        known = catalog.versions(subject, deleted=deleted)
        if not known:
            raise subject_not_found(subject)
        for each in reversed(known):
            properties = (each.schema.metadata or {}).get("properties") or {}
            if wanted.items() <= properties.items():
                return each
        raise schema_not_found()

    return _one(request, await found(asked.journal_of(request), question))


async def remove_subject(request: Request) -> Response:
    decide = partial(
        delete_subject,
        subject=asked.meant_subject(request),
        permanent=asked.flag(request, "permanent"),
    )
    return answer(await asked.journal_of(request).change(decide))


async def remove_version(request: Request) -> Response:
    decide = partial(
        delete_version,
        subject=asked.meant_subject(request),
        number=asked.version_number(request),
        permanent=asked.flag(request, "permanent"),
    )
    return answer(await asked.journal_of(request).change(decide))


async def _version(request: Request) -> Version:
    subject = asked.meant_subject(request)
    number = asked.version_number(request)
    deleted = asked.flag(request, "deleted")
    return await found(
        asked.journal_of(request), lambda catalog: catalog.version(subject, number, deleted=deleted)
    )


def _registered(version: Version, asked_for: Schema) -> dict[str, Any]:
    """The schema comes back only if the registry has added something of its own: clients keep what
    comes for what they have sent."""
    stored = version.schema
    is_as_sent = (stored.metadata, stored.rule_set) == (asked_for.metadata, asked_for.rule_set)
    brief = {"id": version.id, "version": version.version, "guid": stored.guid}
    return brief if is_as_sent else version.to_json()


def _one(request: Request, wanted: Version) -> Response:
    return answer({**wanted.to_json(), "schema": _text(request, wanted)})


def _text(request: Request, wanted: Version) -> str:
    form = request.query_params.get("format", "")
    return formatted(asked.journal_of(request).catalog, wanted.subject, wanted.schema, form)


ROUTES = [
    Route("/subjects", subjects),
    Route("/subjects/{subject}", look_up, methods=["POST"]),
    Route("/subjects/{subject}", remove_subject, methods=["DELETE"]),
    Route("/subjects/{subject}/metadata", latest_with_metadata),
    Route("/subjects/{subject}/versions", versions),
    Route("/subjects/{subject}/versions", register_version, methods=["POST"]),
    Route("/subjects/{subject}/versions/{version}", version),
    Route("/subjects/{subject}/versions/{version}", remove_version, methods=["DELETE"]),
    Route("/subjects/{subject}/versions/{version}/schema", version_text),
    Route("/subjects/{subject}/versions/{version}/referencedby", referenced_by),
]
