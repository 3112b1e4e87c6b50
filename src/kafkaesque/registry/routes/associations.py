"""/associations: which subjects belong to which topics and other resources.

Above: app.py. Below: decisions/associating.py.
"""

from functools import partial
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kafkaesque.registry import requests as asked
from kafkaesque.registry.answers import answer
from kafkaesque.registry.decisions.associating import Wish, associate, dissociate
from kafkaesque.registry.entries import Association, Resource, Version
from kafkaesque.registry.names import qualified
from kafkaesque.registry.problems import invalid_association

_TOPIC = "topic"
_VALUE = "value"


async def put_associations(request: Request) -> Response:
    fields = await asked.body(request)
    wishes = _wishes(fields, asked.context(request))
    made: list[tuple[Association, Version | None]] = await asked.journal_of(request).change(
        partial(associate, wishes=wishes)
    )
    first = made[0][0]
    return answer(
        {
            "resourceName": first.resource.name,
            "resourceNamespace": first.resource.namespace,
            "resourceId": first.resource_id,
            "resourceType": first.resource.type,
            "associations": [_info(*each) for each in made],
        }
    )


async def by_name(request: Request) -> Response:
    namespace = unquote(request.path_params["namespace"])
    name = unquote(request.path_params["name"])
    return _listed(
        request,
        lambda it: it.resource.name == name and namespace in ("-", it.resource.namespace),
    )


async def by_id(request: Request) -> Response:
    resource_id = unquote(request.path_params["id"])
    return _listed(request, lambda it: it.resource_id == resource_id)


async def by_subject(request: Request) -> Response:
    subject = asked.subject(request)
    return _listed(request, lambda it: it.subject == subject)


async def remove(request: Request) -> Response:
    decide = partial(
        dissociate,
        resource_id=unquote(request.path_params["id"]),
        kind=request.query_params.get("resourceType"),
        types=request.query_params.getlist("associationType"),
        cascade=asked.flag(request, "cascadeLifecycle"),
    )
    await asked.journal_of(request).change(decide)
    return Response(status_code=204)


def _listed(request: Request, is_meant: Any) -> Response:
    kind = request.query_params.get("resourceType")
    types = request.query_params.getlist("associationType")
    lifecycle = request.query_params.get("lifecycle")
    found = [
        it.to_json()
        for it in list(asked.journal_of(request).catalog.associations.values())
        if is_meant(it)
        and kind in (None, it.resource.type)
        and (not types or it.resource.association_type in types)
        and lifecycle in (None, it.lifecycle)
    ]
    return answer(asked.page(request, found))


def _wishes(fields: dict[str, Any], context: str) -> list[Wish]:
    name = _required(fields, "resourceName")
    namespace = _required(fields, "resourceNamespace")
    resource_id = _required(fields, "resourceId")
    kind = asked.text_in(fields, "resourceType") or _TOPIC
    given = fields.get("associations")
    if not isinstance(given, list) or not given or not all(isinstance(it, dict) for it in given):
        raise invalid_association("associations", "must be a list of objects")
    return [
        _wish(it, Resource(name, namespace, kind, _VALUE), resource_id, context) for it in given
    ]


def _wish(fields: dict[str, Any], resource: Resource, resource_id: str, context: str) -> Wish:
    association_type = asked.text_in(fields, "associationType") or _VALUE
    subject = qualified(context, _required(fields, "subject"))
    lifecycle = asked.text_in(fields, "lifecycle")
    if lifecycle not in (None, "STRONG", "WEAK"):
        raise invalid_association("lifecycle", "must be STRONG or WEAK")
    schema = fields.get("schema")
    if schema is not None and not isinstance(schema, dict):
        raise invalid_association("schema", "must be an object")
    registration = None
    if schema is not None:
        normalize = bool(fields.get("normalize"))
        registration = asked.registration_in(schema, subject, normalize=normalize)
    return Wish(
        resource._replace(association_type=association_type),
        resource_id,
        subject,
        None if lifecycle is None else lifecycle == "STRONG",
        fields.get("frozen"),
        registration,
    )


def _required(fields: dict[str, Any], name: str) -> str:
    found = asked.text_in(fields, name)
    if found is None:
        raise invalid_association(name, "is missing")
    return found


def _info(association: Association, version: Version | None) -> dict[str, Any]:
    info: dict[str, Any] = {
        "subject": association.subject,
        "associationType": association.resource.association_type,
        "lifecycle": association.lifecycle,
        "frozen": association.frozen,
    }
    if version is not None:
        info["schema"] = version.to_json()
    return info


ROUTES = [
    Route("/associations", put_associations, methods=["POST", "PUT"]),
    Route("/associations/resources/{id}", by_id),
    Route("/associations/resources/{id}", remove, methods=["DELETE"]),
    Route("/associations/resources/{namespace}/{name}", by_name),
    Route("/associations/subjects/{subject}", by_subject),
]
