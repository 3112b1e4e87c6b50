"""How a message is declared: one slotted dataclass for all its versions. The class is the schema.

    @message(api_key=1, versions=(4, 18), flexible=12)
    class FetchRequest:
        max_wait_ms: int32 = 0
        session_id: int32 = field(since=7, default=0)
        topics: list[FetchTopic] = field(default_factory=list)
        cluster_id: string | None = field(since=12, tag=0, default=None)

Fields stand in wire order. Each has a default, which it keeps where a version lacks it. `| None`
makes a field nullable (from version nullable_since on); for a *tagged* struct, which the protocol
cannot null, None means that it is left out. `records_` may always be None; a uuid never is, "no id"
is ZERO_UUID. codec.py reads what `schema_of` returns and nothing else of a class.
"""

import dataclasses
import types
import uuid as _uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import (
    Annotated,
    Any,
    Final,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

from kafkaesque.protocol.model import slotted
from kafkaesque.types import Buffer

T = TypeVar("T")

ZERO_UUID: Final = _uuid.UUID(int=0)
"""Kafka's "no id"."""

_LATEST: Final = 2**15


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type of the protocol. `code` is its struct format; without one, a length comes first."""

    name: str
    code: str = ""


int8: TypeAlias = Annotated[int, Primitive("int8", "b")]
int16: TypeAlias = Annotated[int, Primitive("int16", "h")]
int32: TypeAlias = Annotated[int, Primitive("int32", "i")]
int64: TypeAlias = Annotated[int, Primitive("int64", "q")]
uint16: TypeAlias = Annotated[int, Primitive("uint16", "H")]
uint32: TypeAlias = Annotated[int, Primitive("uint32", "I")]
float64: TypeAlias = Annotated[float, Primitive("float64", "d")]
boolean: TypeAlias = Annotated[bool, Primitive("boolean", "?")]
uuid: TypeAlias = Annotated[_uuid.UUID, Primitive("uuid", "16s")]
string: TypeAlias = Annotated[str, Primitive("string")]
bytes_: TypeAlias = Annotated[bytes, Primitive("bytes")]
records_: TypeAlias = Annotated[Buffer | None, Primitive("records")]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message or struct, with the versions it belongs to."""

    name: str
    type: Primitive | type[Any]
    is_array: bool
    nullable_since: int
    since: int
    until: int
    tag: int | None
    default: Any
    default_factory: Callable[[], Any] | None

    def exists_in(self, version: int) -> bool:
        return self.since <= version <= self.until

    def nullable_in(self, version: int) -> bool:
        return version >= self.nullable_since


@dataclass(frozen=True, slots=True)
class Schema:
    """What the decorators found. A struct has no versions of its own: it follows its message."""

    fields: tuple[Field, ...]
    api_key: int | None = None
    versions: tuple[int, int] = (0, _LATEST)
    flexible: int | None = None

    def is_flexible(self, version: int) -> bool:
        """Whether lengths are varints and tagged fields follow (KIP-482)."""
        return self.flexible is not None and version >= self.flexible


@overload
def field(
    *,
    default: T,
    since: int = 0,
    until: int = _LATEST,
    nullable_since: int = 0,
    tag: int | None = None,
) -> T: ...
@overload
def field(
    *,
    default_factory: Callable[[], T],
    since: int = 0,
    until: int = _LATEST,
    nullable_since: int = 0,
    tag: int | None = None,
) -> T: ...
def field(
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    **metadata: Any,
) -> Any:
    """A field that not every version has, or that is tagged, or that is a list."""
    return dataclasses.field(default=default, default_factory=default_factory, metadata=metadata)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def message(
    *, versions: tuple[int, int], flexible: int | None, api_key: int | None = None
) -> Callable[[type[T]], type[T]]:
    """Declare a request, response or internal record; `flexible` is its first flexible version."""

    def declare(cls: type[T]) -> type[T]:
        return _declare(cls, api_key=api_key, versions=versions, flexible=flexible)

    return declare


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """Declare a part of a message."""
    return _declare(cls)


def schema_of(cls: type[Any]) -> Schema:
    schema: Schema = cls.__kafka_schema__
    return schema


def _declare(cls: type[T], **properties: Any) -> type[T]:
    model: Any = slotted(cls)
    model.__kafka_schema__ = Schema(tuple(map(_field, dataclasses.fields(model))), **properties)
    declared: type[T] = model
    return declared


def _field(spec: "dataclasses.Field[Any]") -> Field:
    kind, is_array, nullable = _unwrap(spec.type)
    missing_factory = spec.default_factory is dataclasses.MISSING
    return Field(
        name=spec.name,
        type=kind,
        is_array=is_array,
        nullable_since=spec.metadata.get("nullable_since", 0) if nullable else _LATEST + 1,
        since=spec.metadata.get("since", 0),
        until=spec.metadata.get("until", _LATEST),
        tag=spec.metadata.get("tag"),
        default=None if spec.default is dataclasses.MISSING else spec.default,
        default_factory=None if missing_factory else spec.default_factory,  # type: ignore[arg-type]
    )


def _unwrap(annotation: Any) -> tuple[Primitive | type[Any], bool, bool]:
    """`list[int32] | None` -> (int32, is an array, is nullable)."""
    nullable = is_array = False
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = (part for part in get_args(annotation) if part is not type(None))
        nullable = True
    if get_origin(annotation) is list:
        (annotation,) = get_args(annotation)
        is_array = True
    if get_origin(annotation) is Annotated:
        kind = annotation.__metadata__[0]
        return kind, is_array, nullable or kind.name == "records"
    return annotation, is_array, nullable
