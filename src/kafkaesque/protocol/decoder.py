"""Writes the function that decodes one class in one version: straight-line code, no dispatch.

What it writes follows the wire. Neighbouring fields of fixed size, together with the length that
comes after them (int16, int32 or the first byte of a varint), are one `Struct.unpack_from`, called
a *run*. Structs are written inline, arrays of them as loops. Every length is checked against the
bytes that are left before it is used, so nothing is allocated on a liar's word. The variables are
`data`, `end` and the position `p`. codec.py is above, source.py and wire.py below.

*In steps* the same function is a generator that gives control back after every so many elements of
arrays (`turn` counts them, and a long text as several), and that refuses a message with more than
`left` of them: a megabyte can be a million.
"""

import struct
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from kafkaesque.errors import DecodeError
from kafkaesque.protocol import wire
from kafkaesque.protocol.schema import Field, Primitive, schema_of
from kafkaesque.protocol.source import ELEMENTS_IN_A_STEP, NUMBERS_IN_A_STEP, Source
from kafkaesque.types import Buffer


def compile_decoder(cls: type[Any], version: int) -> Callable[[Buffer, int, bool], Any]:
    return _Decoder(cls, version, in_steps=False).compile()


def compile_stepwise_decoder(
    cls: type[Any], version: int
) -> Callable[[Buffer, int, bool, int], Generator[None, None, Any]]:
    """It also takes how many elements all arrays may have together."""
    return _Decoder(cls, version, in_steps=True).compile()


class _Decoder:
    def __init__(self, cls: type[Any], version: int, *, in_steps: bool) -> None:
        self._in_steps = in_steps
        self._class = cls
        self._version = version
        self._title = f"{cls.__name__} v{version}"
        self._flexible = schema_of(cls).is_flexible(version)
        self._run: list[tuple[str, str]] = []
        self._after_run: list[str] = []
        self._source = Source(
            DecodeError=DecodeError,
            long_uvarint=wire.long_uvarint,
            new=object.__new__,
            next_tag=wire.next_tag,
            skip_tags=wire.skip_tags,
            struct_error=struct.error,
            tag_count=wire.tag_count,
            unpack_from=struct.unpack_from,
            uuid_from_bytes=wire.uuid_from_bytes,
        )

    def compile(self) -> Callable[..., Any]:
        title = self._title
        line, block = self._source.line, self._source.block
        with block(f"def decode(data, p, surplus{', left' if self._in_steps else ''}):"):
            line("end = len(data)")
            if self._in_steps:
                line("turn = 0")
                # A message without arrays has no other: it is a generator all the same.
                line("if False:")
                line("    yield")
            with block("try:"):
                message = self._struct(self._class)
                with block("if p != end and not surplus:"):
                    line(f'raise DecodeError(f"{title}: {{end - p}} bytes too many")')
                line(f"return {message}")
            with block("except (IndexError, struct_error) as error:"):
                line(f'raise DecodeError("{title}: cut short") from error')
            with block("except UnicodeDecodeError as error:"):
                line(f'raise DecodeError("{title}: a string is not UTF-8") from error')
        return self._source.compile("decode", f"decode {title}")

    def _struct(self, cls: type[Any]) -> str:
        """Decode a struct into a new variable, whose name is returned."""
        schema = schema_of(cls)
        target = self._source.fresh("m")
        self._source.line(f"{target} = new({self._source.constant(cls.__name__, cls)})")
        tagged = []
        for field in schema.fields:
            if not field.exists_in(self._version):
                self._source.line(f"{target}.{field.name} = {self._default(field)}")
            elif field.tag is not None:
                tagged.append(field)
            else:
                self._field(field, f"{target}.{field.name}")
        if self._flexible:
            self._tags(tagged, target)
        self._end_run()
        return target

    def _default(self, field: Field) -> str:
        if field.default_factory is list:
            return "[]"
        if field.default_factory is not None:
            return f"{self._source.constant('make', field.default_factory)}()"
        if field.default is None or isinstance(field.default, int | float | str | bytes):
            return repr(field.default)
        return self._source.constant("default", field.default)

    def _field(self, field: Field, target: str) -> None:
        nullable = field.nullable_in(self._version)
        if field.is_array:
            self._array(field, nullable, target)
        elif isinstance(field.type, Primitive):
            self._primitive(field.type, nullable, target)
        elif nullable and field.tag is None:
            self._nullable_struct(field.type, target)
        else:
            self._end_run()
            self._source.line(f"{target} = {self._struct(field.type)}")

    def _primitive(self, kind: Primitive, nullable: bool, target: str) -> None:
        if kind.name == "uuid":
            raw = self._source.fresh("raw")
            self._run.append((kind.code, raw))
            self._after_run.append(f"{target} = uuid_from_bytes({raw})")
        elif kind.code:
            self._run.append((kind.code, target))
        else:
            self._sized(kind, nullable, target)

    def _sized(self, kind: Primitive, nullable: bool, target: str) -> None:
        """A string, bytes or records: a length, then that many bytes."""
        size = self._length("h" if kind.name == "string" else "i")
        with self._unless_null(size, nullable, target):
            self._source.line(f"stop = p + {size}{' - 1' if self._flexible else ''}")
            too_long = f" and {size} <= {_MAX_STRING + 1}" if self._has_long_length(kind) else ""
            self._refuse_unless(f"p <= stop <= end{too_long}", target)
            self._source.line(f"{target} = {_SLICES[kind.name]}")
            self._source.line("p = stop")
            if self._in_steps and kind.name != "records":
                self._source.end_of_copy(kind.name, size)

    def _has_long_length(self, kind: Primitive) -> bool:
        """A string's varint could say more than the int16 that other versions have for it."""
        return self._flexible and kind.name == "string"

    def _array(self, field: Field, nullable: bool, target: str) -> None:
        size = self._length("i")
        with self._unless_null(size, nullable, target):
            if self._flexible:
                self._source.line(f"{size} -= 1")
            self._refuse_unless(f"0 <= {size} * {self._smallest(field.type)} <= end - p", target)
            if self._in_steps:
                self._source.line(f"left -= {size}")
                with self._source.block("if left < 0:"):
                    self._source.line(f'raise DecodeError("{self._title}: too many elements")')
            self._elements(field.type, size, target)

    def _length(self, legacy_code: str) -> str:
        """Read a length at the end of the run. A varint, in a flexible version, is one too high."""
        size = self._source.fresh("n")
        self._run.append(("B" if self._flexible else legacy_code, size))
        self._end_run()
        if self._flexible:
            with self._source.block(f"if {size} > 127:"):
                self._source.line(f"{size}, p = long_uvarint(data, p, {size})")
        return size

    @contextmanager
    def _unless_null(self, size: str, nullable: bool, target: str) -> Iterator[None]:
        if not nullable:
            yield
            return
        with self._source.block(f"if {size} == {0 if self._flexible else -1}:"):
            self._source.line(f"{target} = None")
        with self._source.block("else:"):
            yield

    def _refuse_unless(self, condition: str, target: str) -> None:
        """A null where none may be fails here too: its length is below zero."""
        name = target.rpartition(".")[2]
        with self._source.block(f"if not ({condition}):"):
            self._source.line(
                f'raise DecodeError("{self._title}: the length of {name} does not fit")'
            )

    def _elements(self, kind: Primitive | type[Any], size: str, target: str) -> None:
        source = self._source
        if isinstance(kind, Primitive) and kind.code and kind.name != "uuid":
            self._numbers(kind, size, target)
            return
        items = source.fresh("items")
        source.line(f"{items} = []")
        with source.block(f"for _ in range({size}):"):
            if isinstance(kind, Primitive):
                element = source.fresh("item")
                self._primitive(kind, False, element)
                self._end_run()
            else:
                element = self._struct(kind)
            source.line(f"{items}.append({element})")
            if self._in_steps:
                source.end_of_element()
        source.line(f"{target} = {items}")

    def _numbers(self, kind: Primitive, size: str, target: str) -> None:
        """One unpack has them all; in steps it has so many at a time."""
        source, width = self._source, struct.calcsize(">" + kind.code)
        if not self._in_steps:
            source.line(f'{target} = list(unpack_from(f">{{{size}}}{kind.code}", data, p))')
            source.line(f"p += {size} * {width}")
            return
        items, some = source.fresh("items"), source.fresh("some")
        source.line(f"{items} = []")
        with source.block(f"while {size}:"):
            source.line(f"{some} = min({size}, {NUMBERS_IN_A_STEP})")
            source.line(f'{items} += unpack_from(f">{{{some}}}{kind.code}", data, p)')
            source.line(f"p += {some} * {width}")
            source.line(f"{size} -= {some}")
            source.end_of_numbers(some)
        source.line(f"{target} = {items}")

    def _nullable_struct(self, cls: type[Any], target: str) -> None:
        """KIP-893: a byte says whether the struct follows."""
        present = self._source.fresh("present")
        self._run.append(("b", present))
        self._end_run()
        self._source.line(f"{target} = None")
        with self._source.block(f"if {present} >= 0:"):
            self._source.line(f"{target} = {self._struct(cls)}")

    def _tags(self, fields: list[Field], target: str) -> None:
        source = self._source
        count = source.fresh("n")
        self._run.append(("B", count))
        self._end_run()
        if not fields:
            with source.block(f"if {count}:"):
                source.line(f"p = skip_tags(data, p, {count})")
                if self._in_steps:
                    source.line(f"turn = {ELEMENTS_IN_A_STEP}")
            return
        for field in fields:
            source.line(f"{target}.{field.name} = {self._default(field)}")
        with source.block(f"if {count}:"):
            with source.block(f"if {count} > 127:"):
                source.line(f"{count}, p = tag_count(data, p, {count})")
                if self._in_steps:
                    source.line(f"turn = {ELEMENTS_IN_A_STEP}")
            with source.block(f"for _ in range({count}):"):
                self._known_tags(fields, target)

    def _known_tags(self, fields: list[Field], target: str) -> None:
        source = self._source
        tag, stop = source.fresh("tag"), source.fresh("stop")
        source.line(f"{tag}, p, {stop} = next_tag(data, p)")
        for index, field in enumerate(fields):
            with source.block(f"{'el' if index else ''}if {tag} == {field.tag}:"):
                self._field(field, f"{target}.{field.name}")
                self._end_run()
        with source.block("else:"):
            source.line(f"p = {stop}")
        with source.block(f"if p != {stop}:"):
            source.line(
                f'raise DecodeError(f"{self._title}: tagged field {{{tag}}} has a wrong size")'
            )

    def _end_run(self) -> None:
        """Write the pending run as one unpack, then what waited for its values."""
        if self._run:
            codes = "".join(code for code, _ in self._run)
            targets = ", ".join(target for _, target in self._run)
            if codes == "B":
                self._source.line(f"{targets} = data[p]")
                self._source.line("p += 1")
            else:
                unpack = self._source.struct_method("unpack_from", codes)
                self._source.line(
                    f"{targets}{',' if len(self._run) == 1 else ''} = {unpack}(data, p)"
                )
                self._source.line(f"p += {struct.calcsize('>' + codes)}")
        for line in self._after_run:
            self._source.line(line)
        self._run, self._after_run = [], []

    def _smallest(self, kind: Primitive | type[Any]) -> int:
        """The fewest bytes that one element can take."""
        if isinstance(kind, Primitive):
            if kind.code:
                return struct.calcsize(">" + kind.code)
            return 1 if self._flexible else (2 if kind.name == "string" else 4)
        fields = schema_of(kind).fields
        present = [f for f in fields if f.exists_in(self._version) and f.tag is None]
        return sum(map(self._smallest_field, present)) + self._flexible

    def _smallest_field(self, field: Field) -> int:
        if field.is_array:
            return 1 if self._flexible else 4
        if not isinstance(field.type, Primitive) and field.nullable_in(self._version):
            return 1
        return self._smallest(field.type)


_MAX_STRING = 0x7FFF

_SLICES = {
    "string": 'str(data[p:stop], "utf-8")',
    "bytes": "bytes(data[p:stop])",
    "records": "memoryview(data)[p:stop]",
}
