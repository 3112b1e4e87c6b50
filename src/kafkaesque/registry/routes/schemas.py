"""/schemas: what is registered, by its ids; and the contexts.

Above: app.py. Below: finding.py, decisions/.
"""

from functools import partial
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kafkaesque.registry import requests as asked
from kafkaesque.registry.answers import MEDIA_TYPE, answer
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.decisions.deleting import delete_context
from kafkaesque.registry.entries import Version
from kafkaesque.registry.names import context_of, qualified
from kafkaesque.registry.parsing import formatted
from kafkaesque.registry.problems import schema_not_found
from kafkaesque.registry.routes.finding import found
from kafkaesque.registry.schema_text import SchemaType


async def schemas(request: Request) -> Response:
    """Every version of every subject, or the latest of each."""
    catalog = asked.journal_of(request).catalog
    deleted = asked.flag(request, "deleted")
    prefix = asked.prefix_of(request) or ""
    if asked.flag(request, "latestOnly"):
        names = catalog.subjects(prefix, deleted=deleted)
        known = [catalog.versions(name, deleted=deleted)[-1] for name in names]
    else:
        known = list(catalog.all_versions(prefix, deleted=deleted))
    return answer([it.to_json() for it in asked.page(request, known)])


async def types(_request: Request) -> Response:
    return answer([str(it) for it in (SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.AVRO)])


async def schema(request: Request) -> Response:
    places = await _places(request)
    wanted = places[0]
    content = {
        "guid": wanted.schema.guid,
        **wanted.schema.to_json(),
        "schema": _text(request, wanted),
    }
    if asked.flag(request, "fetchMaxId"):
        catalog = asked.journal_of(request).catalog
        content["maxId"] = catalog.highest_id(context_of(wanted.subject))
    return answer(content)


async def schema_text(request: Request) -> Response:
    places = await _places(request)
    return Response(_text(request, places[0]), media_type=MEDIA_TYPE)


async def subjects_of(request: Request) -> Response:
    places = _left(request, await _places(request))
    return answer(asked.page(request, sorted({it.subject for it in places})))


async def versions_of(request: Request) -> Response:
    places = _left(request, await _places(request))
    content = [{"subject": it.subject, "version": it.version} for it in places]
    return answer(asked.page(request, content))


async def schema_by_guid(request: Request) -> Response:
    wanted = await _by_guid(request)
    return answer(
        {"guid": wanted.schema.guid, **wanted.schema.to_json(), "schema": _text(request, wanted)}
    )


async def ids_of_guid(request: Request) -> Response:
    wanted = await _by_guid(request)
    ids = asked.journal_of(request).catalog.ids_of(wanted.schema.guid)
    return answer([{"context": context, "id": schema_id} for context, schema_id in ids])


async def contexts(request: Request) -> Response:
    return answer(asked.page(request, asked.journal_of(request).catalog.contexts()))


async def remove_context(request: Request) -> Response:
    decide = partial(delete_context, context=asked.context_in(request.path_params["context"]))
    await asked.journal_of(request).change(decide)
    return Response(status_code=204)


async def _places(request: Request) -> list[Version]:
    """Where a schema is registered, in the context of `?subject=`, under that subject first."""
    schema_id = asked.whole_number(request, "the id", request.path_params["id"])
    subject = qualified(asked.context(request), request.query_params.get("subject", ""))

    def question(catalog: Catalog) -> list[Version]:
        places = catalog.places(context_of(subject), schema_id)
        if not places:
            raise schema_not_found(schema_id)
        return sorted(places, key=lambda it: (it.subject != subject, it.deleted, it.subject))

    return await found(asked.journal_of(request), question)


def _left(request: Request, places: list[Version]) -> list[Version]:
    if asked.flag(request, "deleted"):
        return places
    left = [it for it in places if not it.deleted]
    if not left:
        raise schema_not_found(places[0].id)
    return left


async def _by_guid(request: Request) -> Version:
    guid = unquote(request.path_params["guid"]).lower()

    def question(catalog: Catalog) -> Version:
        for context, schema_id in catalog.ids_of(guid):
            for version in catalog.places(context, schema_id):
                return version
        raise schema_not_found(guid)

    return await found(asked.journal_of(request), question)


def _text(request: Request, wanted: Version) -> str:
    form = request.query_params.get("format", "")
    return formatted(asked.journal_of(request).catalog, wanted.subject, wanted.schema, form)


ROUTES = [
    Route("/schemas", schemas),
    Route("/schemas/types", types),
    Route("/schemas/ids/{id}", schema),
    Route("/schemas/ids/{id}/schema", schema_text),
    Route("/schemas/ids/{id}/subjects", subjects_of),
    Route("/schemas/ids/{id}/versions", versions_of),
    Route("/schemas/guids/{guid}", schema_by_guid),
    Route("/schemas/guids/{guid}/ids", ids_of_guid),
    Route("/contexts", contexts),
    Route("/contexts/{context}", remove_context, methods=["DELETE"]),
]
