"""Registered schemas, parsed with what they refer to. The last ones are kept: parsing is dear.

References form a graph without cycles, since each names a version that was there before; import
mode can still make cycles, which are refused. What is shared in the graph is one object in the
tree of `Referenced`, so that a small graph cannot become a huge tree unless somebody walks it.
Above: compatibility.py, decisions/, routes/. Below: kinds.py, catalog.py.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import md5
from threading import Lock

from kafkaesque.registry.catalog import Catalog
from kafkaesque.registry.entries import Reference, Schema
from kafkaesque.registry.kinds import kind_of
from kafkaesque.registry.problems import ProblemError, invalid_schema
from kafkaesque.registry.schema_text import (
    MAX_TEXT_BYTES,
    InvalidSchemaError,
    ParsedSchema,
    Referenced,
)

MAX_REFERENCES = 500
"""Of one schema, with those of its references."""
_KEPT = 1000


class _Resolver:
    """Everything that one schema refers to, each looked up once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[tuple[str, int], tuple[Referenced, bytes]] = {}
        self._open: set[tuple[str, int]] = set()

    def resolve(
        self, subject: str, references: Sequence[Reference]
    ) -> tuple[tuple[Referenced, ...], bytes]:
        """The references, and a digest of all their texts."""
        found = [self._one(subject, reference) for reference in references]
        digest = md5(usedforsecurity=False)
        for referenced, inner in found:
            digest.update(referenced.name.encode() + b"\0" + inner)
        return tuple(referenced for referenced, _ in found), digest.digest()

    def _one(self, subject: str, reference: Reference) -> tuple[Referenced, bytes]:
        try:
            target = self._catalog.referred(subject, reference)
        except ProblemError as problem:
            raise invalid_schema(
                f"it refers to {reference.name!r}, which cannot be found: {problem.message}"
            ) from None
        place = (target.subject, target.version)
        if place in self._open:
            raise invalid_schema(f"its references come back to version {place[1]} of {place[0]}")
        if place not in self._known:
            self._open.add(place)
            inner, digest = self.resolve(target.subject, target.schema.references)
            self._open.discard(place)
            text = target.schema.text
            whole = md5(target.schema.bare.encode() + digest, usedforsecurity=False).digest()
            self._known[place] = Referenced(reference.name, text, inner), whole
            if len(self._known) > MAX_REFERENCES:
                raise invalid_schema(f"it refers to more than {MAX_REFERENCES} schemas")
        referenced, digest = self._known[place]
        if referenced.name != reference.name:
            referenced = Referenced(reference.name, referenced.text, referenced.references)
        return referenced, digest


class _Kept:
    """The last schemas that were parsed; those with references by all that they refer to."""

    def __init__(self) -> None:
        self._schemas: OrderedDict[tuple[str, bytes], ParsedSchema] = OrderedDict()
        self._lock = Lock()

    def has(self, schema: Schema, digest: bytes) -> bool:
        return (schema.bare, digest) in self._schemas

    def parse(
        self, schema: Schema, references: tuple[Referenced, ...], digest: bytes
    ) -> ParsedSchema:
        key = (schema.bare, digest)
        with self._lock:
            if key in self._schemas:
                self._schemas.move_to_end(key)
                return self._schemas[key]
        parsed = kind_of(schema.type).parse(schema.text, references)
        with self._lock:
            self._schemas[key] = parsed
            if len(self._schemas) > _KEPT:
                self._schemas.popitem(last=False)
        return parsed


_kept = _Kept()


def parsed(catalog: Catalog, subject: str, schema: Schema) -> ParsedSchema:
    """`subject` is where its references are looked up from. Raises ProblemError."""
    references, digest = _resolved(catalog, subject, schema)
    return _parse(schema, references, digest)


def parse_ahead(catalog: Catalog, subject: str, schema: Schema) -> Callable[[], object] | None:
    """What is left to do for `parsed` to be quick, without the catalog; None if nothing is."""
    references, digest = _resolved(catalog, subject, schema)
    if _kept.has(schema, digest):
        return None
    return lambda: _parse(schema, references, digest)


def formatted(catalog: Catalog, subject: str, schema: Schema, form: str) -> str:
    """The text of a registered schema, as `?format=` asks for."""
    if not form:
        return schema.text
    try:
        return parsed(catalog, subject, schema).formatted(form)
    except InvalidSchemaError as error:
        raise invalid_schema(str(error)) from None


def _resolved(
    catalog: Catalog, subject: str, schema: Schema
) -> tuple[tuple[Referenced, ...], bytes]:
    size = len(schema.text.encode(errors="surrogatepass"))
    if size > MAX_TEXT_BYTES:
        raise invalid_schema(f"it has {size:,} bytes; the most is {MAX_TEXT_BYTES:,}")
    try:
        return _Resolver(catalog).resolve(subject, schema.references)
    except RecursionError:
        raise invalid_schema("its references are nested too deeply") from None


def _parse(schema: Schema, references: tuple[Referenced, ...], digest: bytes) -> ParsedSchema:
    try:
        return _kept.parse(schema, references, digest)
    except InvalidSchemaError as error:
        raise invalid_schema(str(error)) from None
    except RecursionError:
        raise invalid_schema("it is nested too deeply") from None
