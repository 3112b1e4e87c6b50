"""Config and mode: of a subject, of a context, or of everything.

Config fields are kept as they come, but for those that the registry acts on, which are checked.
Pure. Above: routes/. Below: catalog.py, compatibility.py, permission.py.
"""

from typing import Any

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.changes import ConfigSet, ModeSet
from kafkaesque.registry.compatibility import level_named
from kafkaesque.registry.decisions import Decision
from kafkaesque.registry.decisions.permission import Mode, mode_named, require_writable
from kafkaesque.registry.entries import JsonObject
from kafkaesque.registry.names import is_whole_context, require_valid
from kafkaesque.registry.problems import (
    not_permitted,
    subject_not_found,
    unreadable,
)

_OBJECTS = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")
_TEXTS = ("alias", "compatibilityGroup", "compatibilityPolicy")
_FLAGS = ("normalize", "validateFields", "validateRules")


def set_config(catalog: Catalog, subject: str | None, body: JsonObject) -> Decision:
    """Fields that are not named stay; a null one goes. The answer is the fields of the body."""
    if subject is not None and not is_whole_context(subject):
        require_valid(subject)
    require_writable(catalog, subject)
    given = _checked(body)
    merged = {**catalog.configs.get(subject, {}), **given}
    config = {name: value for name, value in merged.items() if value is not None}
    return Decision(body, (ConfigSet(subject, config),))


def delete_config(catalog: Catalog, subject: str | None) -> Decision:
    """The answer is what was set."""
    require_writable(catalog, subject)
    if subject not in catalog.configs:
        if subject is not None:
            raise subject_not_found(subject)
        return Decision(catalog.config(None))
    return Decision(catalog.configs[subject], (ConfigSet(subject, None),))


def set_mode(catalog: Catalog, subject: str | None, name: object, *, force: bool) -> Decision:
    mode = mode_named(name)
    if subject is not None and not is_whole_context(subject):
        require_valid(subject)
    if mode is Mode.IMPORT and not force and _has_schemas(catalog, subject):
        where = "the registry" if subject is None else f"subject {subject}"
        raise not_permitted(
            f"Cannot import since {where} has schemas, whose ids could clash: use force=true"
        )
    return Decision({"mode": str(mode)}, (ModeSet(subject, str(mode)),))


def delete_mode(catalog: Catalog, subject: str) -> Decision:
    if subject not in catalog.modes:
        raise subject_not_found(subject)
    return Decision({"mode": catalog.modes[subject]}, (ModeSet(subject, None),))


def _has_schemas(catalog: Catalog, subject: str | None) -> bool:
    if subject is None or is_whole_context(subject):
        return bool(catalog.subjects(subject or "", deleted=True))
    return bool(catalog.versions(subject, deleted=True))


def _checked(body: JsonObject) -> dict[str, Any]:
    fields = dict(body)
    level = fields.pop("compatibility", None)
    level = fields.pop("compatibilityLevel", None) if level is None else level
    if level is not None:
        fields["compatibilityLevel"] = str(level_named(level))
    elif not fields:
        # As Confluent's says it to a body without anything in it.
        level_named(None)
    for names, kind, what in (
        (_OBJECTS, dict, "an object"),
        (_TEXTS, str, "a text"),
        (_FLAGS, bool, "true or false"),
    ):
        for name in names:
            if fields.get(name) is not None and not isinstance(fields[name], kind):
                raise unreadable(f"{name} must be {what}")
    return fields
