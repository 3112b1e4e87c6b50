"""A form for a schema: checks it against a subject, or registers it, and shows what was said.

Above: schemas.py, subject.py. Below: web/schema_form.js, ../schemas.py.
"""

from collections.abc import Callable
from typing import Any, Final, cast

from nicegui.element import Element
from nicegui.events import GenericEventArguments

from kafkaesque.client.registry import (
    Reference,
    Registered,
    RegistryClient,
    RegistryError,
    Schema,
    SchemaKind,
)
from kafkaesque.console.schemas import Schemas

KINDS: Final = ("AVRO", "JSON", "PROTOBUF")


class SchemaForm(Element, component="../web/schema_form.js"):
    """`done` is told what was registered."""

    def __init__(
        self, schemas: Schemas, subject: str | None, done: Callable[[Registered], None]
    ) -> None:
        super().__init__()
        self._schemas = schemas
        self._references: tuple[Reference, ...] = ()
        self._done = done
        self._props["label"] = "New version" if subject else "New subject"
        self._props["subject"] = subject or ""
        self._props["type"] = "AVRO"
        self._props["text"] = self._props["note"] = ""
        self._props["busy"] = False
        self._props["outcome"] = None
        self.on("check", self._check)
        self.on("register", self._register)

    def begin_with(self, schema: Schema, text: str) -> None:
        """What is there before somebody types. The next version refers to what this one does."""
        self._references = schema.references
        named = ", ".join(f"{each.subject}:{each.version}" for each in schema.references)
        self._props["note"] = f"Refers to {named}, as the latest version does" if named else ""
        self._props["type"] = schema.type
        self._props["text"] = text
        self.update()

    async def _check(self, event: GenericEventArguments) -> None:
        subject, schema = self._given(event.args)

        def check(registry: RegistryClient) -> list[str]:
            return registry.check(subject, schema, None)

        reasons = await self._asked(check)
        if reasons is not None:
            self._say(reasons or [f"It may be the next version of {subject}."], is_good=not reasons)

    async def _register(self, event: GenericEventArguments) -> None:
        subject, schema = self._given(event.args)

        def register(registry: RegistryClient) -> Registered:
            made = registry.register(subject, schema)
            return made if made.version else registry.lookup(subject, schema)

        made = await self._asked(register)
        if made is not None:
            place = f"version {made.version} of {subject}, with id {made.id}"
            self._say([f"Registered: it is {place}."], is_good=True)
            self._done(made)

    def _given(self, args: dict[str, Any]) -> tuple[str, Schema]:
        """Whoever speaks to the server need not be our page."""
        kind = args["type"] if args["type"] in KINDS else "AVRO"
        subject = self._props["subject"] or str(args["subject"])
        return subject, Schema(str(args["text"]), cast(SchemaKind, kind), self._references)

    async def _asked(self, call: Callable[[RegistryClient], Any]) -> Any:
        """The answer; None if it is a refusal, which is then said."""
        self._props["busy"] = True
        self.update()
        try:
            return await self._schemas.ask(call)
        except RegistryError as error:
            self._say([str(error)], is_good=False)
            return None
        finally:
            self._props["busy"] = False
            self.update()

    def _say(self, lines: list[str], *, is_good: bool) -> None:
        self._props["outcome"] = {"good": is_good, "lines": lines}
        self.update()
