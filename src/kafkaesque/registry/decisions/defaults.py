"""Metadata and rules that a schema gets from its subject's config and from the version before it.

    defaultMetadata, defaultRuleSet      for those that bring none
    the latest version's                 for those that bring none, where there is no default
    overrideMetadata, overrideRuleSet    laid over what there is

Pure. Above: registering.py. Below: catalog.py.
"""

from dataclasses import replace
from typing import Any

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.entries import JsonObject, Schema


def with_defaults(catalog: Catalog, subject: str, schema: Schema) -> Schema:
    config = catalog.config(subject)
    latest = next(reversed(catalog.versions(subject)), None)
    inherited = (None, None) if latest is None else (latest.schema.metadata, latest.schema.rule_set)
    return replace(
        schema,
        metadata=_layers(
            schema.metadata,
            config.get("defaultMetadata") or inherited[0],
            config.get("overrideMetadata"),
        ),
        rule_set=_layers(
            schema.rule_set,
            config.get("defaultRuleSet") or inherited[1],
            config.get("overrideRuleSet"),
        ),
    )


def _layers(
    own: JsonObject | None, default: JsonObject | None, over: JsonObject | None
) -> JsonObject | None:
    base = own if own is not None else default
    if not over:
        return base
    merged: dict[str, Any] = dict(base or {})
    for name, value in over.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[name] = {**before, **value}
        elif isinstance(before, list) and isinstance(value, list):
            merged[name] = _by_name(before, value)
        else:
            merged[name] = value
    return merged


def _by_name(before: list[Any], over: list[Any]) -> list[Any]:
    """Rules are replaced by those of the same name; other lists are joined."""
    names = {_name(it) for it in over}
    return [it for it in before if _name(it) not in names] + over


def _name(item: Any) -> str:
    return str(item.get("name")) if isinstance(item, dict) else str(item)
