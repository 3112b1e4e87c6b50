"""Python source that is written by decoder.py and encoder.py, line by line, and then compiled.

It keeps the indentation, hands out fresh variable names, and holds the constants (structs, classes,
functions) that the generated function sees as its globals. The text stays in `linecache`, so that a
traceback through generated code shows the line at fault.
"""

import linecache
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

ELEMENTS_IN_A_STEP: Final = 128
"""Elements of arrays, in code that goes in steps: a few hundred microseconds."""
_NUMBERS_PER_ELEMENT = 32
"""They are decoded in as much time; the more of it goes into the memory that they take."""
NUMBERS_IN_A_STEP: Final = _NUMBERS_PER_ELEMENT * ELEMENTS_IN_A_STEP
BYTES_PER_ELEMENT: Final = {"string": 512, "bytes": 4096}
"""Of what is copied. A text with one emoji in it takes four times its bytes. `records` are views,
whatever their size.
"""


class Source:
    def __init__(self, **constants: Any) -> None:
        self.constants = constants
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines under `if …:`, `for …:` and the like."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def end_of_element(self) -> None:
        """In a loop of a function that goes in steps: after so many elements, let others go on."""
        self._end_of(1)

    def end_of_numbers(self, some: str) -> None:
        """The same, of an array that is nothing but so many numbers."""
        self._end_of(f"{some} // {_NUMBERS_PER_ELEMENT}")

    def end_of_copy(self, kind: str, size: str) -> None:
        """The same, of a string or bytes, as the elements that a long one is worth."""
        per_element = BYTES_PER_ELEMENT[kind]
        with self.block(f"if {size} > {per_element}:"):
            self._end_of(f"{size} // {per_element}")

    def _end_of(self, elements: int | str) -> None:
        self.line(f"turn += {elements}")
        with self.block(f"if turn >= {ELEMENTS_IN_A_STEP}:"):
            self.line("turn = 0")
            self.line("yield")

    def fresh(self, stem: str) -> str:
        """A variable name that is not yet taken."""
        self._names += 1
        return f"{stem}{self._names}"

    def constant(self, stem: str, value: object) -> str:
        """The name under which the generated code sees `value`."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = self.fresh(stem)
        self.constants[name] = value
        return name

    def struct_method(self, method: str, codes: str) -> str:
        """The name of a bound method of Struct(">" + codes)."""
        name = f"{method}_{codes.replace('?', 'o')}"
        if name not in self.constants:
            self.constants[name] = getattr(struct.Struct(">" + codes), method)
        return name

    def compile(self, function: str, title: str) -> Callable[..., Any]:
        text = "\n".join(self._lines) + "\n"
        filename = f"<{title}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec"), self.constants)
        compiled: Callable[..., Any] = self.constants[function]
        return compiled
