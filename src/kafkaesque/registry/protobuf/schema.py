"""A Protobuf schema that has been read.

Above: compatibility.py, the package. Below: reading.py, printing.py, normalizing.py.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafkaesque.registry.protobuf.normalizing import normalized_file
from kafkaesque.registry.protobuf.printing import printed
from kafkaesque.registry.protobuf.reading import Reader
from kafkaesque.registry.protobuf.scopes import Names
from kafkaesque.registry.protobuf.spelling import Full, Short
from kafkaesque.registry.protobuf.walking import messages
from kafkaesque.registry.schema_text import Referenced


@dataclass(frozen=True, slots=True)
class ProtobufSchema:
    built: FileDescriptor
    """In a pool of its own, with all that it imports."""
    canonical: str
    _file: FileDescriptorProto
    # Not built.serialized_pb: the pool writes defaults in its own way.
    _names: Names

    def normalized(self) -> str:
        return printed(normalized_file(self._file), self.built.pool, Full(self._names))

    def formatted(self, form: str) -> str:
        if form != "serialized":
            return self.canonical
        return base64.b64encode(self._file.SerializeToString(deterministic=True)).decode()


def parse(text: str, references: Sequence[Referenced] = ()) -> ProtobufSchema:
    """`text` is .proto source, or a FileDescriptorProto in base64. Raises InvalidSchemaError."""
    file, built, names = Reader(references).read(text)
    return ProtobufSchema(built, printed(file, built.pool, Short(names)), file, names)


def descriptor(schema: ProtobufSchema) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    copy.CopyFrom(schema._file)
    return copy


def message_names(schema: ProtobufSchema) -> list[str]:
    """Full names in the order of the file, outer messages first; entries of maps left out."""
    file = schema._file
    return [name for name, message in messages(file, file.package) if not message.options.map_entry]
