"""From text to descriptors: a file, the files it imports, and proof that they fit together.

    .proto text ──tokens, grammar──► Draft ──names, options, checks──► FileDescriptorProto
    base64 ──► FileDescriptorProto ──printing──► .proto text ──► as above

So whatever comes in is judged by the same rules. An import is looked for among the references (all
of them: the references of references as well) and then among the built-in files. Everything is
built in a fresh DescriptorPool in the end; protobuf's default pool is never touched.

Above: schema.py. Below: grammar.py, resolving.py, options.py, checks.py, printing.py.
"""

import base64
import binascii
import re
from collections.abc import Sequence

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from kafkaesque.registry.protobuf.builtin_files import declared_text, runtime_file
from kafkaesque.registry.protobuf.checks import check
from kafkaesque.registry.protobuf.draft import MAX_FULL_NAME
from kafkaesque.registry.protobuf.grammar import draft_of
from kafkaesque.registry.protobuf.options import apply_settings
from kafkaesque.registry.protobuf.printing import printed
from kafkaesque.registry.protobuf.resolving import resolve_types
from kafkaesque.registry.protobuf.scopes import Names, Table, declarations
from kafkaesque.registry.protobuf.spelling import AsGiven
from kafkaesque.registry.protobuf.walking import messages
from kafkaesque.registry.schema_text import (
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    InvalidSchemaError,
    Referenced,
)

ROOT = "default"
"""What the file itself is called in its pool; Confluent's name for it."""
MAX_REFERENCES = 200
MAX_REFERENCED_BYTES = 4 * MAX_TEXT_BYTES
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


class Reader:
    """Reads one text with its references; a Reader is used once."""

    def __init__(self, references: Sequence[Referenced]) -> None:
        self._texts = _by_name(references)
        self._files: dict[str, FileDescriptorProto] = {}
        """Files read so far, each after its imports; the pool has the same."""
        self._pool = DescriptorPool()
        self._table = Table()
        self._reading: list[str] = []

    def read(self, text: str) -> tuple[FileDescriptorProto, FileDescriptor, Names]:
        """The file, the same in its pool, and the names that it can use."""
        self._read(ROOT, text)
        file = self._files[ROOT]
        return file, self._pool.FindFileByName(ROOT), self._names(file)

    def _read(self, name: str, text: str) -> None:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise InvalidSchemaError("the text is not valid Unicode: it has a surrogate") from None
        if size > MAX_TEXT_BYTES:
            raise InvalidSchemaError(f"the text is longer than {MAX_TEXT_BYTES} bytes")
        if not text.strip():
            raise InvalidSchemaError("the text is empty: a .proto text or base64 is wanted")
        if _BASE64.fullmatch(text):
            self._read_encoded(name, text)
        else:
            self._read_proto(name, text)

    def _read_proto(self, name: str, text: str) -> None:
        draft = draft_of(text, name)
        file = draft.file
        for dependency in file.dependency:
            self._import(dependency)
        self._table.add(file)
        names = self._names(file)
        resolve_types(draft, names)
        apply_settings(draft, names, lambda: self._pool_with(file))
        check(draft, self._table)
        self._keep(file)

    def _keep(self, file: FileDescriptorProto) -> None:
        _add(self._pool, file)
        self._files[file.name] = file

    def _pool_with(self, file: FileDescriptorProto) -> DescriptorPool:
        """A pool with a file that is not done yet."""
        pool = DescriptorPool()
        for each in (*self._files.values(), file):
            _add(pool, each)
        return pool

    def _read_encoded(self, name: str, text: str) -> None:
        try:
            given = FileDescriptorProto.FromString(base64.b64decode(text))
        except (binascii.Error, DecodeError):
            raise InvalidSchemaError(
                "the text is neither a .proto text nor a FileDescriptorProto in base64"
            ) from None
        given.name = name
        for full_name, _ in declarations(given):
            if len(full_name) > MAX_FULL_NAME:
                raise InvalidSchemaError(f"a full name is longer than {MAX_FULL_NAME} characters")
        for dependency in given.dependency:
            self._import(dependency)
        self._read_proto(name, printed(given, self._pool_with(given), AsGiven()))
        read = self._files[name]
        if [each for each, _ in messages(read, "")] != [each for each, _ in messages(given, "")]:
            raise InvalidSchemaError(
                "the order of nested messages in the FileDescriptorProto is none that protoc makes"
            )

    def _import(self, name: str) -> None:
        if name in self._files:
            return
        if name in self._reading or name == ROOT:
            chain = " imports ".join(f'"{each}"' for each in (*self._reading, name))
            raise InvalidSchemaError(f"the imports go in a circle: {chain}")
        if len(self._reading) >= MAX_DEPTH:
            raise InvalidSchemaError(f"the imports are nested deeper than {MAX_DEPTH}")
        self._reading.append(name)
        try:
            self._read_import(name)
        except InvalidSchemaError as bad:
            raise bad if len(self._reading) > 1 else _inside(name, bad) from None
        finally:
            self._reading.pop()

    def _read_import(self, name: str) -> None:
        if name in self._texts:
            self._read(name, self._texts[name])
            return
        built_in = runtime_file(name)
        text = declared_text(name)
        if built_in is not None:
            for dependency in built_in.dependency:
                self._import(dependency)
            self._table.add(built_in)
            self._keep(built_in)
        elif text is not None:
            self._read_proto(name, text)
        else:
            raise _NoReferenceError(
                f'import "{name[:200]}" is not among the references: '
                f'add a reference with the name "{name[:200]}"'
            )

    def _names(self, file: FileDescriptorProto) -> Names:
        seen = {file.name}
        waiting = list(file.dependency)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                other = self._files[name]
                waiting.extend(other.dependency[index] for index in other.public_dependency)
        return Names(self._table, frozenset(seen))


def _add(pool: DescriptorPool, file: FileDescriptorProto) -> None:
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as bad:
        raise InvalidSchemaError(f"protobuf refuses the schema: {bad}") from None


class _NoReferenceError(InvalidSchemaError):
    """Its message says all: which file the import stands in does not matter."""


def _inside(name: str, bad: InvalidSchemaError) -> InvalidSchemaError:
    if isinstance(bad, _NoReferenceError):
        return bad
    return InvalidSchemaError(f'in the imported "{name[:200]}": {bad}')


def _by_name(references: Sequence[Referenced]) -> dict[str, str]:
    """All references, those of references too, by their names."""
    found: dict[str, str] = {}
    size = 0
    waiting = list(references)
    while waiting:
        reference = waiting.pop()
        if reference.name in found:
            if found[reference.name] != reference.text:
                raise InvalidSchemaError(f'two references have the name "{reference.name[:200]}"')
            continue
        found[reference.name] = reference.text
        size += len(reference.text)
        if size > MAX_REFERENCED_BYTES or len(found) > MAX_REFERENCES:
            raise InvalidSchemaError(
                f"more than {MAX_REFERENCES} references, or more than {MAX_REFERENCED_BYTES} bytes"
            )
        waiting.extend(reference.references)
    return found
