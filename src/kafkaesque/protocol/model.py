"""How a class that schema.py declares behaves in Python: a slotted, keyword-only dataclass.

Of the methods that dataclass would generate for each of some 170 classes, most are never called,
and compiling them takes longer than all else that the package does on import. So __eq__ and
__repr__ are shared, and __init__ is compiled when a class is first called.
"""

import dataclasses
from typing import Any, TypeVar

from kafkaesque.protocol.source import Source

T = TypeVar("T")


def slotted(cls: type[T]) -> type[T]:
    # Without a docstring, dataclass would write the signature into it, which is slow to work out.
    cls.__doc__ = cls.__doc__ or f"Fields of {cls.__qualname__}, in wire order."
    for name, method in _SHARED.items():
        setattr(cls, name, method)
    return dataclasses.dataclass(slots=True, kw_only=True, init=False, repr=False, eq=False)(cls)


def _init(self: Any, **values: Any) -> None:
    cls = type(self)
    cls.__init__ = _compile_init(cls)
    cls.__init__(self, **values)


def _compile_init(cls: type[Any]) -> Any:
    source = Source(MISSING=dataclasses.MISSING)
    fields = dataclasses.fields(cls)
    parameters = (f"{f.name}={source.constant('default', f.default)}" for f in fields)
    with source.block(f"def __init__(self, *, {', '.join(parameters)}):"):
        for f in fields:
            value = f.name
            if f.default_factory is not dataclasses.MISSING:
                make = source.constant("make", f.default_factory)
                value = f"{make}() if {f.name} is MISSING else {f.name}"
            source.line(f"self.{f.name} = {value}")
    return source.compile("__init__", f"init {cls.__name__}")


def _eq(self: object, other: object) -> Any:
    if type(self) is not type(other):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in _names(self))


def _repr(self: object) -> str:
    """Only what differs from its default: most fields of a message belong to other versions."""
    default = type(self)()
    values = ((name, getattr(self, name)) for name in _names(self))
    told = [f"{name}={value!r}" for name, value in values if value != getattr(default, name)]
    return f"{type(self).__name__}({', '.join(told)})"


def _names(self: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = self.__slots__
    return names


_SHARED = {"__init__": _init, "__eq__": _eq, "__repr__": _repr, "__hash__": None}
