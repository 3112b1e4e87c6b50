"""Generated Protobuf schemas: plain models, their .proto texts, and pairs of which one is mutated.

The texts are written here, not by the printer under test. All messages of a model are top-level or
one level deep; every name is unique, so that any model is a valid schema unless a mutation breaks
it (then parse() refuses it, and the test drops it).
"""

from dataclasses import dataclass, replace

from hypothesis import strategies as st

VARINTS = ("int32", "int64", "uint32", "uint64", "bool")
SCALARS = (
    *VARINTS,
    *("sint32", "sint64", "string", "bytes", "fixed32", "sfixed32", "fixed64", "sfixed64"),
    *("float", "double"),
)
KEYS = ("int32", "uint64", "sint32", "fixed64", "bool", "string")
MESSAGES = ("A", "B", "C")
ENUMS = ("E", "F")
ONEOFS = ("pick", "choose")


@dataclass(frozen=True, slots=True)
class FieldModel:
    number: int
    type: str
    label: str = ""
    oneof: str = ""
    options: str = ""
    name: str = ""

    @property
    def written_name(self) -> str:
        return self.name or f"f{self.number}"

    def text(self) -> str:
        label = "" if self.oneof or self.type.startswith("map<") else self.label + " "
        options = f" [{self.options}]" if self.options else ""
        return f"{label}{self.type} {self.written_name} = {self.number}{options};"


@dataclass(frozen=True, slots=True)
class MessageModel:
    name: str
    fields: tuple[FieldModel, ...]
    nested: tuple["MessageModel", ...] = ()
    reserved: str = ""

    def text(self) -> str:
        plain = [field.text() for field in self.fields if not field.oneof]
        oneofs = []
        for oneof in dict.fromkeys(field.oneof for field in self.fields if field.oneof):
            members = " ".join(field.text() for field in self.fields if field.oneof == oneof)
            oneofs.append(f"oneof {oneof} {{ {members} }}")
        nested = [message.text() for message in self.nested]
        # Half of the fields, the nested messages, then the rest: positions must not depend on it.
        middle = len(plain) // 2
        parts = [self.reserved, *plain[:middle], *nested, *oneofs, *plain[middle:]]
        body = "\n  ".join(part for part in parts if part)
        return f"message {self.name} {{ // {self.name}\n  {body}\n}}"


@dataclass(frozen=True, slots=True, repr=False)
class SchemaModel:
    syntax: str
    messages: tuple[MessageModel, ...]
    enums: tuple[tuple[str, tuple[int, ...]], ...] = (("E", (0, 1, 2)), ("F", (0, 5)))
    package: str = "shop.v1"
    extra: str = ""

    def text(self) -> str:
        enums = [
            f"enum {name} {{ {' '.join(f'{name}_{value} = {value};' for value in values)} }}"
            for name, values in self.enums
        ]
        parts = [f'syntax = "{self.syntax}";', f"package {self.package};", self.extra, *enums]
        return "\n".join([*parts, *(message.text() for message in self.messages)]) + "\n"

    def __repr__(self) -> str:
        return self.text()


def types() -> st.SearchStrategy[str]:
    maps = st.builds("map<{}, {}>".format, st.sampled_from(KEYS), st.sampled_from(SCALARS + ENUMS))
    return st.sampled_from(SCALARS) | st.sampled_from(MESSAGES + ENUMS) | maps


@st.composite
def fields(draw: st.DrawFn, number: int, syntax: str, *, rich: bool = False) -> FieldModel:
    type_ = draw(types())
    labels = ["optional", "repeated"] if syntax == "proto2" else ["", "optional", "repeated"]
    if syntax == "proto2":
        labels.append("required" if draw(st.integers(0, 4)) == 0 else "optional")
    oneof = draw(st.sampled_from(["", "", "", *ONEOFS])) if not type_.startswith("map<") else ""
    field = FieldModel(number, type_, draw(st.sampled_from(labels)), oneof)
    if rich:
        field = replace(field, options=draw(_options(field, syntax)))
    return field


def _options(field: FieldModel, syntax: str) -> st.SearchStrategy[str]:
    options = ["", "", "deprecated = true", f'json_name = "j{field.number}"']
    if syntax == "proto2" and field.label != "repeated" and not field.type.startswith("map<"):
        if field.type == "string":
            options.append('default = "it\'s \\"\\u00e9\\" \\n"')
        elif field.type in ("float", "double"):
            options += ["default = 0.1", "default = -inf", "default = 1e10"]
        elif field.type == "bool":
            options.append("default = true")
        elif field.type in SCALARS and field.type != "bytes":
            options.append("default = 0x10")
        elif field.type == "E":
            options.append("default = E_2")
    return st.sampled_from(options)


@st.composite
def messages(draw: st.DrawFn, name: str, syntax: str, *, rich: bool = False) -> MessageModel:
    numbers = draw(st.lists(st.integers(1, 12), unique=True, max_size=6))
    nested: tuple[MessageModel, ...] = ()
    if rich and len(name) < 3:
        count = draw(st.integers(0, 2))
        nested = tuple(
            draw(messages(f"{name}n{index}", syntax, rich=len(name) < 2)) for index in range(count)
        )
    reserved = draw(st.sampled_from(["", "reserved 100 to 200, 300;", 'reserved "x", "y";']))
    return MessageModel(
        name,
        tuple(draw(fields(number, syntax, rich=rich)) for number in numbers),
        nested,
        reserved if rich else "",
    )


@st.composite
def schemas(draw: st.DrawFn, *, rich: bool = False) -> SchemaModel:
    """`rich`: with options, nested messages, reserved ones and services, for the parser."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    extra = ""
    if rich:
        extra = draw(
            st.sampled_from(
                [
                    "",
                    'option java_package = "a.b"; /* c */ option optimize_for = CODE_SIZE;',
                    "service S { rpc Call (stream A) returns (B) { option deprecated = true; } }",
                ]
            )
        )
    declared = tuple(draw(messages(name, syntax, rich=rich)) for name in MESSAGES)
    return SchemaModel(syntax, declared, extra=extra)


@st.composite
def pairs(draw: st.DrawFn, changes: int = 2) -> tuple[SchemaModel, SchemaModel]:
    """A schema and what became of it: the writer's and the reader's."""
    old = draw(schemas())
    new = old
    for _ in range(draw(st.integers(1, changes))):
        new = draw(mutated(new))
    return old, new


@st.composite
def mutated(draw: st.DrawFn, schema: SchemaModel) -> SchemaModel:
    kind = draw(st.sampled_from(["field"] * 8 + ["order", "enum", "package", "drop"]))
    if kind == "order":
        return replace(schema, messages=tuple(reversed(schema.messages)))
    if kind == "package":
        return replace(schema, package="shop.v2")
    if kind == "enum":
        return replace(schema, enums=(("E", (0, 2, 7)), ("F", (0, 5, 6))))
    target = draw(st.sampled_from(schema.messages))
    if kind == "drop":
        return replace(schema, messages=tuple(m for m in schema.messages if m is not target))
    changed = replace(target, fields=draw(_mutated_fields(target.fields, schema.syntax)))
    return replace(schema, messages=tuple(changed if m is target else m for m in schema.messages))


@st.composite
def _mutated_fields(
    draw: st.DrawFn, before: tuple[FieldModel, ...], syntax: str
) -> tuple[FieldModel, ...]:
    if not before or draw(st.integers(0, 4)) == 0:
        return (*before, draw(fields(draw(st.integers(13, 15)), syntax)))
    index = draw(st.integers(0, len(before) - 1))
    field = before[index]
    change = draw(
        st.sampled_from(["type"] * 4 + ["label", "label", "oneof", "oneof", "drop", "rename"])
    )
    labels = ["repeated", "optional", "required" if syntax == "proto2" else ""]
    if change == "drop":
        return (*before[:index], *before[index + 1 :])
    if change == "type":
        after = replace(field, type=draw(st.sampled_from(SCALARS + ENUMS) | types()))
    elif change == "label":
        after = replace(field, label=draw(st.sampled_from(labels)))
    elif change == "oneof":
        after = replace(field, oneof=draw(st.sampled_from(["", *ONEOFS])))
    else:
        after = replace(field, name=f"renamed{field.number}")
    return (*before[:index], after, *before[index + 1 :])
