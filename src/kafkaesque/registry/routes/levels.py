"""/config, /mode and /compatibility: what holds for subjects, and whether a schema would do.

Above: app.py. Below: finding.py, decisions/, compatibility.py.
"""

import asyncio
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kafkaesque.registry import requests as asked
from kafkaesque.registry.answers import answer
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.compatibility import reasons
from kafkaesque.registry.decisions.configuring import (
    delete_config,
    delete_mode,
    set_config,
    set_mode,
)
from kafkaesque.registry.decisions.registering import canonical
from kafkaesque.registry.entries import JsonObject, Schema, Version
from kafkaesque.registry.names import DEFAULT_CONTEXT, whole_context
from kafkaesque.registry.problems import config_not_set, mode_not_set
from kafkaesque.registry.routes.finding import found, parsed_ahead


async def config(request: Request) -> Response:
    subject = _scope(request)
    to_global = subject is None or asked.flag(request, "defaultToGlobal")

    def question(catalog: Catalog) -> JsonObject:
        if to_global:
            return catalog.config(subject)
        if subject not in catalog.configs:
            raise config_not_set(subject or "")
        return catalog.configs[subject]

    return answer(await found(asked.journal_of(request), question))


async def put_config(request: Request) -> Response:
    decide = partial(set_config, subject=_scope(request), body=await asked.body(request))
    return answer(await asked.journal_of(request).change(decide))


async def remove_config(request: Request) -> Response:
    decide = partial(delete_config, subject=_scope(request))
    return answer(await asked.journal_of(request).change(decide))


async def mode(request: Request) -> Response:
    subject = _scope(request)
    to_global = subject is None or asked.flag(request, "defaultToGlobal")

    def question(catalog: Catalog) -> str:
        if to_global:
            return catalog.mode(subject)
        if subject not in catalog.modes:
            raise mode_not_set(subject or "")
        return catalog.modes[subject]

    return answer({"mode": await found(asked.journal_of(request), question)})


async def put_mode(request: Request) -> Response:
    fields = await asked.body(request)
    decide = partial(
        set_mode,
        subject=_scope(request),
        name=fields.get("mode"),
        force=asked.flag(request, "force"),
    )
    return answer(await asked.journal_of(request).change(decide))


async def remove_mode(request: Request) -> Response:
    decide = partial(delete_mode, subject=asked.subject(request))
    return answer(await asked.journal_of(request).change(decide))


async def check_one(request: Request) -> Response:
    """Against one version."""
    subject = asked.meant_subject(request)
    number = asked.version_number(request)
    version = await found(
        asked.journal_of(request), lambda catalog: catalog.version(subject, number)
    )
    return await _check(request, subject, [version])


async def check_all(request: Request) -> Response:
    """Against those that the level names; there may be none yet."""
    return await _check(request, asked.meant_subject(request), None)


async def _check(request: Request, subject: str, against: list[Version] | None) -> Response:
    journal = asked.journal_of(request)
    schema = asked.schema_in(await asked.body(request))
    await parsed_ahead(journal, subject, schema)
    normalize = asked.flag(request, "normalize")

    def check(catalog: Catalog) -> list[str]:
        stored: Schema = canonical(catalog, subject, schema, normalize=normalize)
        return reasons(catalog, subject, stored, against)

    why = await asyncio.to_thread(check, journal.catalog)
    content: dict[str, Any] = {"is_compatible": not why}
    if asked.flag(request, "verbose"):
        content["messages"] = why
    return answer(content)


def _scope(request: Request) -> str | None:
    """A subject; a whole context; None: everything."""
    if "subject" in request.path_params:
        return asked.subject(request)
    within = asked.context(request)
    return None if within == DEFAULT_CONTEXT else whole_context(within)


ROUTES = [
    Route("/config", config),
    Route("/config", put_config, methods=["PUT"]),
    Route("/config", remove_config, methods=["DELETE"]),
    Route("/config/{subject}", config),
    Route("/config/{subject}", put_config, methods=["PUT"]),
    Route("/config/{subject}", remove_config, methods=["DELETE"]),
    Route("/mode", mode),
    Route("/mode", put_mode, methods=["PUT"]),
    Route("/mode/{subject}", mode),
    Route("/mode/{subject}", put_mode, methods=["PUT"]),
    Route("/mode/{subject}", remove_mode, methods=["DELETE"]),
    Route("/compatibility/subjects/{subject}/versions", check_all, methods=["POST"]),
    Route("/compatibility/subjects/{subject}/versions/{version}", check_one, methods=["POST"]),
]
