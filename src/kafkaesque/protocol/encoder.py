"""Writes the function that encodes one class in one version: the mirror image of decoder.py.

The bytes gather in a bytearray `out`. Neighbouring fields of fixed size are one `Struct.pack`,
called a *run*; a length that fits in one byte joins it, and so does an empty set of tagged fields.
A `records` buffer is never copied: `out` ends before it, and the buffer becomes a chunk of its own.
codec.py is above, source.py and wire.py below.

*In steps* the same function is a generator that gives control back after every so many elements of
arrays, of which a long text counts as several: a response can have a million.
"""

import struct
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from kafkaesque.protocol import wire
from kafkaesque.protocol.schema import Field, Primitive, schema_of
from kafkaesque.protocol.source import Source
from kafkaesque.types import Buffer


def compile_encoder(cls: type[Any], version: int) -> Callable[[Any], list[Buffer]]:
    return _Encoder(cls, version, in_steps=False).compile()


def compile_stepwise_encoder(
    cls: type[Any], version: int
) -> Callable[[Any], Generator[None, None, list[Buffer]]]:
    return _Encoder(cls, version, in_steps=True).compile()


class _Encoder:
    def __init__(self, cls: type[Any], version: int, *, in_steps: bool) -> None:
        self._in_steps = in_steps
        self._class = cls
        self._version = version
        self._flexible = schema_of(cls).is_flexible(version)
        self._run: list[tuple[str, str]] = []
        self._out = "out"
        self._source = Source(encode_uvarint=wire.encode_uvarint, pack=struct.pack)

    def compile(self) -> Callable[[Any], Any]:
        line, block = self._source.line, self._source.block
        with block("def encode(m):"):
            line("chunks = []")
            line("out = bytearray()")
            if self._in_steps:
                line("turn = 0")
                # A message without arrays has no other: it is a generator all the same.
                line("if False:")
                line("    yield")
            self._struct(self._class, "m")
            self._end_run()
            line("if out:")
            line("    chunks.append(out)")
            line("return chunks")
        title = f"encode {self._class.__name__} v{self._version}"
        return self._source.compile("encode", title)

    def _struct(self, cls: type[Any], value: str) -> None:
        present = [f for f in schema_of(cls).fields if f.exists_in(self._version)]
        for field in present:
            if field.tag is None:
                self._field(field, f"{value}.{field.name}")
        if self._flexible:
            self._tags([field for field in present if field.tag is not None], value)

    def _field(self, field: Field, value: str) -> None:
        nullable = field.nullable_in(self._version)
        if field.is_array:
            self._array(field.type, nullable, value)
        elif isinstance(field.type, Primitive):
            self._primitive(field.type, nullable, value)
        elif nullable and field.tag is None:
            self._nullable_struct(field.type, value)
        else:
            inner = self._source.fresh("m")
            self._source.line(f"{inner} = {value}")
            self._struct(field.type, inner)

    def _primitive(self, kind: Primitive, nullable: bool, value: str) -> None:
        if kind.name == "uuid":
            self._run.append((kind.code, f'{value}.int.to_bytes(16, "big")'))
        elif kind.code:
            self._run.append((kind.code, value))
        elif kind.name == "string":
            self._string(kind, nullable, value)
        else:
            self._bytes(kind, nullable, value)

    def _string(self, kind: Primitive, nullable: bool, value: str) -> None:
        raw, size = self._source.fresh("raw"), self._source.fresh("n")
        encoded = f"{value}.encode()"
        if nullable:
            encoded = f'b"" if {value} is None else {encoded}'
        self._source.line(f"{raw} = {encoded}")
        self._size(size, raw, nullable, value)
        self._length(size, "h")
        self._source.line(f"{self._out} += {raw}")
        if self._in_steps:
            self._source.end_of_copy(kind.name, size)

    def _bytes(self, kind: Primitive, nullable: bool, value: str) -> None:
        raw, size = self._source.fresh("raw"), self._source.fresh("n")
        self._source.line(f"{raw} = {value}")
        self._size(size, raw, nullable, raw)
        self._length(size, "i")
        with self._source.block(f"if {raw}:"):
            if kind.name == "records":
                self._source.line(f"chunks += (out, {raw})")
                self._source.line("out = bytearray()")
            else:
                self._source.line(f"{self._out} += {raw}")
                if self._in_steps:
                    self._source.end_of_copy(kind.name, size)

    def _array(self, kind: Primitive | type[Any], nullable: bool, value: str) -> None:
        items, size = self._source.fresh("items"), self._source.fresh("n")
        self._source.line(f"{items} = {value}")
        self._size(size, items, nullable, items)
        self._length(size, "i")
        with self._source.block(f"if {items}:"):
            self._elements(kind, items)

    def _elements(self, kind: Primitive | type[Any], items: str) -> None:
        if isinstance(kind, Primitive) and kind.code and kind.name != "uuid":
            many = f'pack(f">{{len({items})}}{kind.code}", *{items})'
            self._source.line(f"{self._out} += {many}")
            return
        item = self._source.fresh("m")
        with self._source.block(f"for {item} in {items}:"):
            if isinstance(kind, Primitive):
                self._primitive(kind, False, item)
            else:
                self._struct(kind, item)
            self._end_run()
            if self._in_steps:
                self._source.end_of_element()

    def _size(self, size: str, sized: str, nullable: bool, value: str) -> None:
        """The length as it is written: in a flexible version one higher, and 0 for null."""
        length = f"len({sized}) + 1" if self._flexible else f"len({sized})"
        if nullable:
            length = f"{0 if self._flexible else -1} if {value} is None else {length}"
        self._source.line(f"{size} = {length}")

    def _length(self, size: str, legacy_code: str) -> None:
        if self._flexible:
            with self._end_run_if(f"{size} < 128", "B", size):
                self._source.line(f"{self._out} += encode_uvarint({size})")
        else:
            self._run.append((legacy_code, size))
            self._end_run()

    def _nullable_struct(self, cls: type[Any], value: str) -> None:
        """KIP-893: a byte says whether the struct follows."""
        self._end_run()
        inner = self._source.fresh("m")
        self._source.line(f"{inner} = {value}")
        with self._source.block(f"if {inner} is None:"):
            self._source.line(f'{self._out} += b"\\xff"')
        with self._source.block("else:"):
            self._run.append(("b", "1"))
            self._struct(cls, inner)
            self._end_run()

    def _tags(self, fields: list[Field], value: str) -> None:
        if not fields:
            self._run.append(("x", ""))
            return
        fields = sorted(fields, key=lambda field: field.tag or 0)
        unset = {field.name: self._is_default(field, value) for field in fields}
        with self._end_run_if(" and ".join(unset.values()), "x", ""):
            count, tags = self._source.fresh("count"), self._source.fresh("tags")
            self._source.line(f"{count}, {tags} = 0, bytearray()")
            for field in fields:
                with self._source.block(f"if not {unset[field.name]}:"):
                    self._tag(field, value, tags)
                    self._source.line(f"{count} += 1")
            self._source.line(f"{self._out} += encode_uvarint({count}) + {tags}")

    def _tag(self, field: Field, value: str, tags: str) -> None:
        outer, self._out = self._out, self._source.fresh("out")
        self._source.line(f"{self._out} = bytearray()")
        self._field(field, f"{value}.{field.name}")
        self._end_run()
        prefix = f"{wire.encode_uvarint(field.tag or 0)!r} + encode_uvarint(len({self._out}))"
        self._source.line(f"{tags} += {prefix} + {self._out}")
        self._out = outer

    def _is_default(self, field: Field, value: str) -> str:
        """A tagged field that has its default value is left out."""
        value = f"{value}.{field.name}"
        if field.default_factory is not None:
            return f"(not {value})"
        if field.default is not None:
            default = self._source.constant("default", field.default)
            return f"({value} == {default})"
        if isinstance(field.type, Primitive) or field.is_array:
            return f"({value} is None)"
        default = self._source.constant("default", field.type())
        return f"({value} is None or {value} == {default})"

    def _end_run(self) -> None:
        """Write the pending run as one pack."""
        if self._run:
            self._source.line(f"{self._out} += {self._pack(self._run)}")
        self._run = []

    @contextmanager
    def _end_run_if(self, fits: str, code: str, value: str) -> Iterator[None]:
        """Write the run, with one more byte if that `fits`, else with what the block writes."""
        run, self._run = self._run, []
        with self._source.block(f"if {fits}:"):
            self._source.line(f"{self._out} += {self._pack([*run, (code, value)])}")
        with self._source.block("else:"):
            if run:
                self._source.line(f"{self._out} += {self._pack(run)}")
            yield

    def _pack(self, run: list[tuple[str, str]]) -> str:
        codes = "".join(code for code, _ in run)
        if not codes.strip("x"):
            return repr(bytes(len(codes)))
        values = ", ".join(value for code, value in run if code != "x")
        return f"{self._source.struct_method('pack', codes)}({values})"
