"""Whether a subject may be written to now: its mode says so.

Above: the other decisions. Below: catalog.py.
"""

from enum import StrEnum

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.problems import invalid_mode, not_permitted


class Mode(StrEnum):
    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"


def mode_named(name: object) -> Mode:
    try:
        return Mode(str(name).upper())
    except ValueError:
        raise invalid_mode(name) from None


def require_writable(catalog: Catalog, subject: str | None) -> Mode:
    """The mode. Raises ProblemError."""
    mode = mode_named(catalog.mode(subject))
    whole = mode_named(catalog.mode(None))
    if whole is Mode.READONLY_OVERRIDE:
        mode = whole
    if mode in (Mode.READONLY, Mode.READONLY_OVERRIDE):
        name = "The registry" if subject is None else f"Subject {subject}"
        raise not_permitted(f"{name} is in read-only mode")
    return mode
