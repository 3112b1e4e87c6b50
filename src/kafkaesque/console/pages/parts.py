"""What pages are made of: headings, figures, panels, tables, and a way to stay up to date.

Plain HTML elements with the classes of web/console.css, and one component of our own for tables,
web/table.js.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from nicegui import context, ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

CHECK_S = 0.25


class Versioned(Protocol):
    @property
    def version(self) -> int: ...


V_co = TypeVar("V_co", bound=Versioned, covariant=True)


class Watched(Protocol[V_co]):
    """What has a view that changes: poller.py, fanout_poller.py, schemas.py."""

    @property
    def view(self) -> V_co: ...


class Watchable(Protocol):
    """What is asked only while somebody watches: fanout_poller.py, schemas.py."""

    def watch(self, watcher: Hashable) -> None: ...

    def unwatch(self, watcher: Hashable) -> None: ...


@dataclass(frozen=True, slots=True)
class Column:
    """`kind` says how web/table.js writes its values; a minor one is not for phones."""

    name: str
    label: str
    kind: str = "text"
    minor: bool = False
    mono: bool = False
    hint: str = ""

    @property
    def props(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Table(Element, component="../web/table.js"):
    """Rows are dicts with an `id` and a value per column; `hidden` ones show when asked for."""

    def __init__(
        self,
        columns: Sequence[Column],
        noun: str,
        empty: str,
        *,
        searchable: bool = False,
        hideable: str = "",
        sort_by: str = "",
        down: bool = False,
    ) -> None:
        super().__init__()
        self._props["columns"] = [column.props for column in columns]
        self._props["rows"] = []
        self._props["noun"] = noun
        self._props["empty"] = empty
        self._props["searchable"] = searchable
        self._props["hideable"] = hideable
        self._props["sorted"] = {"by": sort_by, "down": down}

    def show(self, rows: list[dict[str, Any]]) -> None:
        if rows != self._props["rows"]:
            self._props["rows"] = rows
            self.update()

    def explain(self, empty: str) -> None:
        """What to say where there are no rows."""
        if empty != self._props["empty"]:
            self._props["empty"] = empty
            self.update()

    def fade(self, stale: bool) -> None:
        self.classes(add="k-stale" if stale else "", remove="" if stale else "k-stale")


class Figures(Element, component="../web/figures.js"):
    """A row of names with one value each; of kinds as a table's columns."""

    def __init__(self, **kinds: str) -> None:
        super().__init__()
        self._kinds = kinds
        self._props["figures"] = []
        self.show()

    def show(self, **values: object) -> None:
        figures = [
            {"name": name, "kind": kind, "value": values.get(name)}
            for name, kind in self._kinds.items()
        ]
        if figures != self._props["figures"]:
            self._props["figures"] = figures
            self.update()


class Choice(Element, component="../web/choice.js"):
    """A box to choose from, with a name before it. Options are values with their texts."""

    def __init__(self, label: str, choose: Callable[[str], object]) -> None:
        super().__init__()
        self._props["label"] = label
        self._props["options"] = []
        self._props["value"] = ""
        self._choose = choose
        self.on("choose", self._take)

    def _take(self, event: GenericEventArguments) -> Any:
        # What the browser shows now: if it is refused, the offer that follows is news.
        self._props["value"] = str(event.args)
        return self._choose(str(event.args))

    def offer(self, options: dict[str, str], value: str) -> None:
        told = [{"value": each, "text": words} for each, words in options.items()]
        if told != self._props["options"] or value != self._props["value"]:
            self._props["options"] = told
            self._props["value"] = value
            self.update()


class Text(Element):
    """An element that holds text, which is never read as HTML."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__(name)
        self._text = words

    def write(self, words: str) -> None:
        if words != self._text:
            self._text = words
            self.update()

    def note(self, attribute: str, value: str | None) -> None:
        """Set an attribute, or take it away."""
        if self._props.get(attribute) != value:
            if value is None:
                self._props.pop(attribute, None)
            else:
                self._props[attribute] = value
            self.update()


class Watch(Element):
    """Watches while the page is open: nobody looks once it is left, or the browser is gone."""

    def __init__(self, poller: Watchable) -> None:
        super().__init__("span")
        self._poller = poller
        if context.client.has_socket_connection:
            self._begin()
        else:
            context.client.on_connect(self._begin)

    def _begin(self) -> None:
        if not self.is_deleted:
            self._poller.watch(self)

    def _handle_delete(self) -> None:
        self._poller.unwatch(self)
        super()._handle_delete()


def tag(name: str, classes: str = "") -> Element:
    return ui.element(name).classes(classes)


def text(name: str, words: str, classes: str = "") -> Text:
    return Text(name, words).classes(classes)


def title(words: str, crumb: tuple[str, str] | None = None) -> None:
    """The page's heading, and above it the way back: its name and address."""
    ui.page_title(f"{words} · Kafkaesque")
    if crumb is not None:
        ui.link(*crumb).classes("k-crumb")
    text("h1", words)


@contextmanager
def panel(heading: str = "") -> Iterator[None]:
    with tag("section", "k-panel"):
        if heading:
            text("h2", heading)
        yield


def live(poller: Watched[V_co], draw: Callable[[V_co], None]) -> None:
    """Draw now, and again after every look, as long as the page is there."""
    drawn = -1

    def check() -> None:
        nonlocal drawn
        if poller.view.version != drawn:
            drawn = poller.view.version
            draw(poller.view)

    check()
    ui.timer(CHECK_S, check)


def link(words: str, address: str) -> dict[str, str]:
    """A cell of a column of kind link."""
    return {"text": words, "href": address}
