"""Versions and subjects are deleted: first softly, then, if wanted, for good.

Softly: they are no longer found, but by their ids, so that what was written can be read. For good
means that nothing can be read any more; ids are still never given again.
Pure. Above: routes/. Below: catalog.py, permission.py.
"""

from collections.abc import Iterable
from dataclasses import replace

from kafkaesque.registry import changes as to
from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.decisions import Decision
from kafkaesque.registry.decisions.permission import require_writable
from kafkaesque.registry.entries import Version
from kafkaesque.registry.names import DEFAULT_CONTEXT
from kafkaesque.registry.problems import (
    context_not_empty,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)


def delete_subject(catalog: Catalog, subject: str, *, permanent: bool) -> Decision:
    """The answer is the numbers of the versions."""
    require_writable(catalog, subject)
    every = catalog.versions(subject, deleted=True)
    if not every:
        raise subject_not_found(subject)
    left = catalog.versions(subject)
    _require_unreferenced(catalog, every)
    if permanent:
        if left:
            raise subject_not_soft_deleted(subject)
        return Decision([it.version for it in every], (*_removals(catalog, every),))
    if not left:
        raise subject_soft_deleted(subject)
    changes: list[to.Change] = [to.SubjectDeleted(subject, left[-1].version)]
    if subject in catalog.modes:
        changes.append(to.ModeSet(subject, None))
    if subject in catalog.configs:
        changes.append(to.ConfigSet(subject, None))
    return Decision([it.version for it in left], tuple(changes))


def delete_version(
    catalog: Catalog, subject: str, number: int | None, *, permanent: bool
) -> Decision:
    """None: the latest. The answer is the number."""
    require_writable(catalog, subject)
    every = {it.version: it for it in catalog.versions(subject, deleted=True)}
    if not every:
        raise subject_not_found(subject)
    if number is None:
        number = catalog.version(subject, None, deleted=permanent).version
    version = every.get(number)
    if version is None:
        raise version_not_found(number)
    _require_unreferenced(catalog, [version])
    if permanent:
        if not version.deleted:
            raise version_not_soft_deleted(subject, number)
        return Decision(number, (*_removals(catalog, [version]),))
    if version.deleted:
        raise version_soft_deleted(subject, number)
    return Decision(number, (to.VersionSet(replace(version, deleted=True)),))


def delete_context(catalog: Catalog, context: str) -> Decision:
    """Of what is left of a context: its config and its mode."""
    whole = f":{context}:"
    require_writable(catalog, whole)
    if context == DEFAULT_CONTEXT or context in catalog.contexts():
        raise context_not_empty(context)
    changes: list[to.Change] = []
    if whole in catalog.modes:
        changes.append(to.ModeSet(whole, None))
    if whole in catalog.configs:
        changes.append(to.ConfigSet(whole, None))
    return Decision(None, tuple(changes))


def _removals(catalog: Catalog, versions: Iterable[Version]) -> Iterable[to.Change]:
    yield to.HighestIds(catalog.highest_ids())
    for version in versions:
        yield to.VersionRemoved(version.subject, version.version)


def _require_unreferenced(catalog: Catalog, versions: Iterable[Version]) -> None:
    for version in versions:
        if catalog.referrers(version.subject, version.version):
            raise reference_exists(version.subject, version.version)
