"""Options: `option name = constant;` and `[name = constant, ...]`.

    name      ident | "(" full.ident ")"  { "." ident | "." "(" full.ident ")" }
    constant  ident | [-+] number | strings | "{" text format "}"

What they set is decided later (options.py). Two that stand in a field's list are no options but
parts of the field itself: default and json_name.

Above: grammar.py, grammar_messages.py, grammar_enums.py. Below: draft.py, defaults.py.
"""

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from kafkaesque.registry.protobuf.defaults import default_text
from kafkaesque.registry.protobuf.draft import PROTO3, Constant, Draft, Holder, NamePart, Setting
from kafkaesque.registry.protobuf.tokens import FLOAT, INTEGER, NAME, STRING
from kafkaesque.registry.schema_text import MAX_DEPTH

_OPENING = {"{": "}", "[": "]", "<": ">"}


def option_statement(draft: Draft, holder: Holder, scope: str) -> None:
    draft.cursor.expect("option", "the start")
    _setting(draft, holder, scope)
    draft.cursor.expect(";", "an option")


def option_list(draft: Draft, holder: Holder, scope: str) -> None:
    """`[a = 1, (b).c = "x"]`, or nothing."""
    cursor = draft.cursor
    if not cursor.accept("["):
        return
    while True:
        if isinstance(holder, FieldDescriptorProto) and cursor.at("default") and cursor.ahead("="):
            _default(draft, holder)
        elif isinstance(holder, FieldDescriptorProto) and cursor.at("json_name"):
            _json_name(draft, holder)
        else:
            _setting(draft, holder, scope)
        if not cursor.accept(","):
            break
    cursor.expect("]", "the options")


def _default(draft: Draft, field: FieldDescriptorProto) -> None:
    cursor = draft.cursor
    start = cursor.next()
    cursor.expect("=", '"default"')
    value = constant(draft)
    if field.HasField("default_value"):
        cursor.refuse(f'field "{field.name}" has two defaults', start)
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        cursor.refuse(f'field "{field.name}" is repeated: it cannot have a default', start)
    if draft.syntax == PROTO3:
        cursor.refuse("proto3 has no explicit defaults: leave it out, or use proto2", start)
    try:
        field.default_value = default_text(field, value)
    except ValueError as bad:
        draft.refuse(value.offset, f'default of field "{field.name}": {bad}')


def _json_name(draft: Draft, field: FieldDescriptorProto) -> None:
    start = draft.cursor.next()
    draft.cursor.expect("=", '"json_name"')
    if field.HasField("json_name"):
        draft.cursor.refuse(f'field "{field.name}" has two JSON names', start)
    field.json_name = draft.cursor.text_string("a JSON name")
    if "\0" in field.json_name:
        draft.cursor.refuse("a JSON name cannot contain a zero character", start)


def _setting(draft: Draft, holder: Holder, scope: str) -> None:
    offset = draft.cursor.token.offset
    name = [_name_part(draft)]
    while draft.cursor.accept("."):
        name.append(_name_part(draft))
    if len(name) > MAX_DEPTH:
        draft.refuse(offset, "an option's name has too many parts")
    draft.cursor.expect("=", "an option's name")
    draft.settings.append(Setting(holder, scope, tuple(name), constant(draft), offset))


def _name_part(draft: Draft) -> NamePart:
    cursor = draft.cursor
    if not cursor.accept("("):
        return NamePart(cursor.name("an option's name").text, False)
    name = cursor.dotted_name("an option's name", leading_dot=True).text
    cursor.expect(")", "an option's name")
    return NamePart(name, True)


def constant(draft: Draft) -> Constant:
    cursor = draft.cursor
    start = cursor.token
    if start.kind == STRING:
        return Constant("string", cursor.string("a value"), start.offset)
    if start.text == "{":
        return Constant("aggregate", _aggregate(draft), start.offset)
    negative = cursor.accept("-")
    if not negative:
        cursor.accept("+")
    token = cursor.next()
    if token.kind == INTEGER:
        whole = cursor.whole(token)
        return Constant("integer", -whole if negative else whole, start.offset)
    if token.kind == FLOAT or (negative and token.text in ("inf", "nan")):
        value = float(token.text)
        return Constant("float", -value if negative else value, start.offset)
    if token.kind != NAME or start is not token:
        cursor.refuse(f'a value is missing: found "{token.text[:60]}"', token)
    return Constant("identifier", token.text, start.offset)


def _aggregate(draft: Draft) -> str:
    """The text between the braces, its tokens one space apart."""
    cursor = draft.cursor
    closing = [_OPENING[cursor.next().text]]
    parts: list[str] = []
    while True:
        token = cursor.next()
        if token.kind == "end":
            cursor.refuse('"}" is missing after an option\'s value', token)
        if token.kind == "symbol" and token.text in _OPENING:
            closing.append(_OPENING[token.text])
            if len(closing) > MAX_DEPTH:
                cursor.refuse(f"an option's value is nested deeper than {MAX_DEPTH}", token)
        elif token.kind == "symbol" and token.text in _OPENING.values():
            if token.text != closing.pop():
                cursor.refuse(f'"{token.text}" closes nothing', token)
            if not closing:
                return " ".join(parts)
        parts.append(token.text)
