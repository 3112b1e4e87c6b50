"""Subjects are associated with resources, such as topics: which subject has the topic's values.

A resource has at most one subject for each kind of association (`key`, `value`). A subject that
belongs to a resource (strong) is associated with nothing else. A frozen association stays as it is.
Pure. Above: routes/. Below: catalog.py, registering.py, deleting.py.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.changes import AssociationSet, Change
from kafkaesque.registry.decisions import Decision
from kafkaesque.registry.decisions.deleting import delete_subject
from kafkaesque.registry.decisions.registering import Registration, register
from kafkaesque.registry.entries import Association, Resource, Version
from kafkaesque.registry.problems import (
    association_frozen,
    no_active_version,
    resource_is_associated,
    subject_is_associated,
    subject_is_strongly_associated,
)


@dataclass(frozen=True, slots=True)
class Wish:
    """None: as it is, or as it is by default (weak, not frozen)."""

    resource: Resource
    resource_id: str
    subject: str
    is_strong: bool | None = None
    frozen: bool | None = None
    registration: Registration | None = None


def associate(catalog: Catalog, wishes: list[Wish]) -> Decision:
    """All or none. The answer is a pair of Association and Version or None for each."""
    draft = catalog.copy()
    changes: list[Change] = []
    answers: list[tuple[Association, Version | None]] = []
    for wish in wishes:
        made, version = _one(draft, wish)
        for change in made:
            draft.apply(change)
        changes += made
        answers.append((draft.associations[wish.resource], version))
    return Decision(answers, tuple(changes))


def dissociate(
    catalog: Catalog, resource_id: str, kind: str | None, types: Collection[str], *, cascade: bool
) -> Decision:
    """`cascade`: subjects that belong to the resource are deleted with it."""
    draft = catalog.copy()
    changes: list[Change] = []
    for resource, association in catalog.associations.items():
        is_meant = association.resource_id == resource_id and kind in (None, resource.type)
        if not is_meant or (types and resource.association_type not in types):
            continue
        if association.frozen and not cascade:
            raise association_frozen(resource.association_type, association.subject)
        changes.append(AssociationSet(resource, None))
        if cascade and association.is_strong and draft.versions(association.subject):
            deletion = delete_subject(draft, association.subject, permanent=False)
            for change in deletion.changes:
                draft.apply(change)
            changes += deletion.changes
    return Decision(None, tuple(changes))


def _one(catalog: Catalog, wish: Wish) -> tuple[list[Change], Version | None]:
    changes: list[Change] = []
    version: Version | None = None
    if wish.registration is not None:
        registered = register(catalog, wish.registration)
        version = registered.answer
        changes += registered.changes
    elif not catalog.versions(wish.subject):
        raise no_active_version(wish.subject)
    known = catalog.associations.get(wish.resource)
    association = _association(wish, known)
    if association == known:
        return changes, version
    _require_free(catalog, association)
    changes.append(AssociationSet(wish.resource, association))
    return changes, version


def _association(wish: Wish, known: Association | None) -> Association:
    resource = wish.resource
    if known is None:
        guid = str(uuid5(NAMESPACE_URL, "/".join((*resource, wish.resource_id))))
        return Association(
            resource, wish.resource_id, wish.subject, guid, bool(wish.is_strong), bool(wish.frozen)
        )
    if known.subject != wish.subject or known.resource_id != wish.resource_id:
        raise resource_is_associated(resource.association_type, resource.name)
    changed = Association(
        resource,
        known.resource_id,
        known.subject,
        known.guid,
        known.is_strong if wish.is_strong is None else wish.is_strong,
        known.frozen if wish.frozen is None else wish.frozen,
    )
    if known.frozen and changed != known:
        raise association_frozen(resource.association_type, known.subject)
    return changed


def _require_free(catalog: Catalog, association: Association) -> None:
    for other in catalog.associations.values():
        if other.subject != association.subject or other.resource == association.resource:
            continue
        if other.is_strong:
            raise subject_is_strongly_associated(association.subject)
        if association.is_strong:
            raise subject_is_associated(association.subject)
