"""What options set: protobuf's own, and custom ones by the extensions that declare them.

A custom option is an extension of google.protobuf.MessageOptions and its like. Where a file that
is imported declares it, its value is encoded into the descriptor, as protoc does; where none does,
the option stays as it was written (uninterpreted_option), and is printed so again.

Above: reading.py. Below: draft.py, option_values.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, UninterpretedOption
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from kafkaesque.registry.protobuf.draft import Draft, Holder, NamePart, Setting
from kafkaesque.registry.protobuf.option_values import put, put_aggregate
from kafkaesque.registry.protobuf.scopes import Names

_REFUSED = ("uninterpreted_option", "map_entry")


def apply_settings(draft: Draft, names: Names, pool: Callable[[], DescriptorPool]) -> None:
    """`pool` builds the file and its imports, for the extensions they declare."""
    custom = [setting for setting in draft.settings if setting.is_custom]
    for setting in draft.settings:
        if not setting.is_custom:
            if setting.name[0].name in _REFUSED:
                draft.refuse(setting.offset, f"{setting.name[0].name} cannot be set in a text")
            _assign(draft, setting, setting.holder.options, [part.name for part in setting.name])
    if custom:
        _apply_custom(draft, custom, names, pool())


def _apply_custom(
    draft: Draft, settings: list[Setting], names: Names, pool: DescriptorPool
) -> None:
    # All of a holder's options at once: encoding them again for each one would take squared time.
    known: dict[int, list[tuple[Setting, list[str | FieldDescriptor]]]] = {}
    for setting in settings:
        path = _path(draft, setting, names, pool)
        if path is None:
            _keep_as_written(setting)
        else:
            known.setdefault(id(setting.holder), []).append((setting, path))
    for group in known.values():
        holder = group[0][0].holder
        options = decoded_options(holder, pool)
        for setting, path in group:
            _assign(draft, setting, options, path)
        holder.options.ParseFromString(options.SerializeToString(deterministic=True))


def decoded_options(holder: Holder, pool: DescriptorPool) -> Message:
    """A holder's options with the custom ones that the pool knows."""
    try:
        descriptor: Descriptor = pool.FindMessageTypeByName(holder.options.DESCRIPTOR.full_name)
    except KeyError:
        return holder.options
    return GetMessageClass(descriptor).FromString(holder.options.SerializeToString())


def _path(
    draft: Draft, setting: Setting, names: Names, pool: DescriptorPool
) -> list[str | FieldDescriptor] | None:
    """The option's name with extensions in place of their names; None: one is not known."""
    found: list[str | FieldDescriptor] = []
    for part in setting.name:
        extension = (
            _extension(draft, setting, part, names, pool) if part.is_extension else part.name
        )
        if extension is None:
            return None
        found.append(extension)
    return found


def _extension(
    draft: Draft, setting: Setting, part: NamePart, names: Names, pool: DescriptorPool
) -> FieldDescriptor | None:
    is_file = isinstance(setting.holder, FileDescriptorProto)
    scope = draft.file.package if is_file else setting.scope
    full_name = names.resolved_extension(part.name, scope)
    return None if full_name is None else pool.FindExtensionByName(full_name)


def _keep_as_written(setting: Setting) -> None:
    kept = UninterpretedOption()
    for name, is_extension in setting.name:
        kept.name.add(name_part=name, is_extension=is_extension)
    value = setting.constant.value
    if setting.constant.kind == "aggregate":
        kept.aggregate_value = str(value)
    elif setting.constant.kind == "identifier":
        kept.identifier_value = str(value)
    elif isinstance(value, bytes):
        kept.string_value = value
    elif isinstance(value, int) and -(2**63) <= value < 0:
        kept.negative_int_value = value
    elif isinstance(value, int) and 0 <= value < 2**64:
        kept.positive_int_value = value
    else:
        kept.double_value = float(value)
    setting.holder.options.uninterpreted_option.append(kept)


def _assign(
    draft: Draft, setting: Setting, options: Message, path: Sequence[str | FieldDescriptor]
) -> None:
    message: Any = options
    for index, step in enumerate(path):
        field: Any = message.DESCRIPTOR.fields_by_name.get(step) if isinstance(step, str) else step
        if field is None or field.containing_type.full_name != message.DESCRIPTOR.full_name:
            draft.refuse(setting.offset, f'option "{setting.written_name}" is not known here')
        if index == len(path) - 1:
            _put(draft, setting, message, field)
        elif field.message_type is None or field.is_repeated:
            draft.refuse(setting.offset, f'option "{field.name}" has no parts that can be set')
        else:
            message = (
                message.Extensions[field] if field.is_extension else getattr(message, field.name)
            )


def _put(draft: Draft, setting: Setting, message: Any, field: Any) -> None:
    try:
        if field.message_type is not None:
            put_aggregate(message, field, setting.constant)
        else:
            put(message, field, setting.constant)
    except (ValueError, TypeError) as bad:
        draft.refuse(setting.constant.offset, f'option "{setting.written_name}": {bad}')
