"""One subject: its versions and what has changed between two, a form for the next one, its level.

It is asked for again every few seconds while the page is open, so that what others register shows.
Above: frame.py. Below: ../subject_details.py, schema_form.py, web/diff.js.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.element import Element

from kafkaesque.client.registry import RegistryClient, RegistryError
from kafkaesque.client.schema_diff import WHOLE, readable
from kafkaesque.console.addresses import SCHEMAS, subject_path
from kafkaesque.console.pages.parts import Choice, Figures, Text, panel, tag, text, title
from kafkaesque.console.pages.schema_form import SchemaForm
from kafkaesque.console.schema_reader import TYPES
from kafkaesque.console.schemas import Schemas
from kafkaesque.console.subject_details import (
    Comparison,
    SubjectDetails,
    VersionDetails,
    comparison,
    subject_details,
    version_details,
)

AGAIN_S = 2.0
GLOBAL = "global"
LEVELS = (
    *("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE"),
    *("FULL", "FULL_TRANSITIVE", "NONE"),
)
ONE_ALONE = "There is one version alone."
THE_SAME = "These are the same."


class DiffView(Element, component="../web/diff.js"):
    def __init__(self) -> None:
        super().__init__()
        self.show(None, "")

    def show(self, found: Comparison | None, empty: str) -> None:
        changes = None if found is None else found.diff.changes
        self._props["changes"] = changes and [
            {"kind": each.kind, "path": each.path or WHOLE, "text": each.text} for each in changes
        ]
        self._props["lines"] = [] if found is None else list(found.diff.lines)
        self._props["verdicts"] = [
            {
                "direction": each.direction,
                "compatible": each.is_compatible,
                "sentence": each.sentence,
                "reasons": list(each.reasons),
            }
            for each in (() if found is None else found.verdicts)
        ]
        self._props["empty"] = empty
        self.update()


class SubjectPage:
    def __init__(self, schemas: Schemas, name: str) -> None:
        self._schemas = schemas
        self._name = name
        self._details: SubjectDetails | None = None
        self._chosen: int | None = None
        self._compared: tuple[int, int] | None = None
        title(name, ("Schemas", SCHEMAS))
        self._problem = text("p", "", "k-banner").props('role="alert"')
        self._problem.set_visibility(False)
        self._refusal = text("p", "", "k-banner").props('role="alert"')
        self._refusal.set_visibility(False)
        self._missing = text("p", f"There is no subject {name} now.", "k-empty")
        self._missing.set_visibility(False)
        with tag("div") as self._there:
            self._draw()
        self._there.set_visibility(False)
        ui.timer(AGAIN_S, self._look)

    def _draw(self) -> None:
        self._figures = Figures(Type="text", Versions="number", Id="text", Mode="text")
        with panel("Schema"):
            with tag("div", "k-toolbar"):
                self._version = Choice("Version", self._choose)
            self._facts = tag("p", "k-facts")
            self._text = text("pre", "", "k-text").props('data-part="schema"')
        with panel("What has changed"):
            with tag("div", "k-toolbar"):
                self._old = Choice("From version", self._choose_old)
                self._new = Choice("to version", self._choose_new)
            self._diff = DiffView()
        with panel("Next version"):
            self._form = SchemaForm(self._schemas, self._name, lambda _: self._look_now())
        with panel("Rules"), tag("div", "k-toolbar"):
            self._level = Choice("Compatibility", self._set_level)
            delete = text("button", "Delete the subject", "k-button k-danger")
            delete.props('type="button"').on("click", self._ask_to_delete)
        self._dialog = ui.dialog()

    async def _look(self) -> None:
        found = await self._asked(partial(subject_details, name=self._name))
        if self._problem.visible:
            return
        self._missing.set_visibility(found is None)
        self._there.set_visibility(found is not None)
        if found is not None and found != self._details:
            before, self._details = self._details, found
            await self._show(found, is_new=before is None or before.versions != found.versions)

    async def _show(self, found: SubjectDetails, *, is_new: bool) -> None:
        latest = found.latest
        self._figures.show(
            Type=TYPES.get(latest.schema.type, latest.schema.type),
            Versions=len(found.versions),
            Id=str(latest.id),
            Mode=found.mode,
        )
        self._offer_levels(found)
        if is_new:
            self._form.begin_with(latest.schema, readable(latest.schema.type, latest.schema.text))
            await self._show_version(found.versions[-1])
            await self._compare(*found.versions[-2:])

    async def _show_version(self, number: int) -> None:
        self._chosen = number
        self._version.offer(self._numbers(), str(number))
        found = await self._asked(partial(version_details, name=self._name, version=number))
        if found is not None and self._chosen == number:
            schema = found.registered.schema
            self._text.write(readable(schema.type, schema.text))
            self._facts.clear()
            with self._facts:
                _draw_facts(found)

    async def _compare(self, old: int, new: int | None = None) -> None:
        """With one alone there is nothing to compare."""
        self._compared = (old, new or old)
        for choice, number in zip((self._old, self._new), self._compared, strict=True):
            choice.offer(self._numbers(), str(number))
        if new is None or old == new:
            self._diff.show(None, ONE_ALONE if new is None else THE_SAME)
        else:
            found = await self._asked(
                partial(comparison, judge=self._schemas.judge, name=self._name, old=old, new=new)
            )
            if found is not None and self._compared == (old, new):
                self._diff.show(found, THE_SAME)

    def _numbers(self) -> dict[str, str]:
        versions = () if self._details is None else self._details.versions
        return {str(each): str(each) for each in reversed(versions)}

    async def _choose(self, value: str) -> None:
        await self._show_version(int(value))

    async def _choose_old(self, value: str) -> None:
        if self._compared is not None:
            await self._compare(int(value), self._compared[1])

    async def _choose_new(self, value: str) -> None:
        if self._compared is not None:
            await self._compare(self._compared[0], int(value))

    async def _set_level(self, value: str) -> None:
        def change(registry: RegistryClient) -> object:
            if value == GLOBAL:
                return registry.delete_config(self._name)
            return registry.set_config(self._name, compatibility=value)

        if not await self._done(change) and self._details is not None:
            self._offer_levels(self._details)
        await self._look()

    def _offer_levels(self, found: SubjectDetails) -> None:
        levels = {GLOBAL: f"{found.global_level} (the global one)"} | {
            each: each for each in LEVELS
        }
        self._level.offer(levels, found.level or GLOBAL)

    def _ask_to_delete(self) -> None:
        self._dialog.clear()
        with self._dialog, tag("div", "k-record").props('role="document"'):
            text("h2", f"Delete {self._name}?")
            text(
                "p",
                "All its versions go. Records that were written with them stay readable, and it "
                "comes back when it is registered again. For good it goes only with: "
                f"kafkaesque schema delete {self._name} --permanent",
            )
            with tag("div", "k-actions"):
                keep = text("button", "Keep it", "k-button").props('type="button"')
                keep.on("click", self._dialog.close)
                yes = text("button", "Delete", "k-button k-danger").props('type="button"')
                yes.on("click", self._delete)
        self._dialog.open()

    async def _delete(self) -> None:
        self._dialog.close()
        if await self._done(lambda registry: registry.delete_subject(self._name)):
            ui.navigate.to(SCHEMAS)

    def _look_now(self) -> None:
        ui.timer(0, self._look, once=True)

    async def _asked(self, call: Callable[[RegistryClient], Any]) -> Any:
        """The answer; None if there is none, and why not is on the page until there is one."""
        return await _answer(self._schemas, call, self._problem)

    async def _done(self, change: Callable[[RegistryClient], object]) -> bool:
        """Whether it was; if not, why not is on the page until the next change."""
        await _answer(self._schemas, change, self._refusal)
        return not self._refusal.visible


async def _answer(schemas: Schemas, call: Callable[[RegistryClient], Any], complaint: Text) -> Any:
    try:
        answer = await schemas.ask(call)
    except RegistryError as error:
        complaint.write(str(error))
        complaint.set_visibility(True)
        return None
    complaint.set_visibility(False)
    return answer


def subject_page(schemas: Schemas, name: str) -> None:
    SubjectPage(schemas, name)


def _draw_facts(found: VersionDetails) -> None:
    made = found.registered
    text("span", f"Id {made.id}" + (f" · guid {made.guid}" if made.guid else ""))
    referring = [(each.subject, each.version) for each in made.schema.references]
    for words, places in (("refers to", referring), ("referred to by", found.referrers)):
        for position, (subject, version) in enumerate(places):
            text("span", " · " + words + " " if position == 0 else ", ")
            ui.link(f"{subject}:{version}", subject_path(subject))
