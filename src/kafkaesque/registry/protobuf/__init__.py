"""Protobuf schemas: .proto texts (proto2, proto3, edition 2023) and base64 FileDescriptorProtos."""

from kafkaesque.registry.protobuf.compatibility import incompatibilities
from kafkaesque.registry.protobuf.schema import (
    ProtobufSchema,
    descriptor,
    message_names,
    parse,
)

__all__ = ["ProtobufSchema", "descriptor", "incompatibilities", "message_names", "parse"]
