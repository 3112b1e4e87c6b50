"""The live tail on a topic's page: starts and stops it, sends what is new, shows one record.

Nothing is read before `start`, nor after `pause` or after the page is left. The reader's thread
only fills a TailView; a timer on the page's side takes from it, at most ten times a second.

A condition typed into the box is parsed here, and a wrong one goes no further: the one before it
holds. With a fan-out the matches come from there, and nothing else is read; without one, or when
it does not answer, all is read here, and the view picks what matches. With a registry, what was
written with a schema is shown and filtered as JSON; its bytes can still be seen.
Below: record.py, tail_view.py, decoding.py, fanout_tail.py, client/tail.py, web/tail.js.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from kafkaesque.client.filters import FilterError, Predicate, parse
from kafkaesque.client.record import Record
from kafkaesque.client.tail import Tail
from kafkaesque.console.decoding import Decoding
from kafkaesque.console.fanout_tail import FanoutTail
from kafkaesque.console.pages.parts import tag, text
from kafkaesque.console.pages.record import draw_record, row_of, whole_of
from kafkaesque.console.poller import Poller
from kafkaesque.console.schema_reader import SchemaReader
from kafkaesque.console.tail_view import CAPACITY, INTERVAL_S, Changes, TailView

NO_FANOUT = "Without the fan-out the whole topic is read here"
NO_REGISTRY = "Records are shown as their bytes"


class TailPanel(Element, component="../web/tail.js"):
    def __init__(self, poller: Poller, topic: str, reader: SchemaReader | None) -> None:
        super().__init__()
        self._poller = poller
        self._topic = topic
        self._reader = reader
        self._view = TailView(reader=reader)
        self._decoding: Decoding | None = None
        if reader is not None:
            self._decoding = Decoding(reader, self._view.add, self._view.skip, self._note_registry)
        self._needle = ""
        self._predicate: Predicate | None = None
        self._tail: Tail | FanoutTail | None = None
        self._problem: str | None = None
        self._fanout_problem: str | None = None
        self._registry_problem: str | None = None
        self._wrong = ""
        self._enter("idle")
        self.on("start", self._start)
        self.on("pause", self._pause)
        self.on("clear", self._view.clear)
        self.on("filter", self._filter)
        self.on("where", self._choose)
        self.on("open", self._open)
        self._dialog = ui.dialog()
        ui.timer(INTERVAL_S, self._send)

    def _start(self, event: GenericEventArguments) -> None:
        if not self._wrong:
            # Whoever speaks to the server need not be our page: no more than is shown anyway.
            self._read(max(0, min(int(event.args["last"]), CAPACITY)))

    def _read(self, last: int) -> None:
        self._stop()
        self._problem = self._fanout_problem = None
        if self._predicate is None or self._poller.fanout_url is None:
            self._read_all(last)
        else:
            self._tail = self._poller.open_matches(
                self._topic,
                self._predicate.text,
                last,
                deliver=self._deliver,
                skip=self._view.skip,
                fail=self._note_fanout,
            )
        self._enter("live")

    def _read_all(self, last: int) -> None:
        self._tail = self._poller.open_tail(
            self._topic, last, deliver=self._deliver, fail=self._note
        )

    def _pause(self) -> None:
        self._stop()
        self._enter("paused")

    def _filter(self, event: GenericEventArguments) -> None:
        self._needle = str(event.args)
        self._view.filter(self._needle)

    def _choose(self, event: GenericEventArguments) -> None:
        """The condition in the box has changed."""
        typed = str(event.args)
        try:
            predicate = parse(typed) if typed.strip() else None
        except FilterError as error:
            self._wrong = str(error)
            self._enter(self._props["state"])
            return
        self._wrong = ""
        is_new, self._predicate = predicate != self._predicate, predicate
        if is_new:
            self._view.where(predicate)
        if is_new and self._props["state"] == "live" and self._poller.fanout_url is not None:
            self._read(last=0)
        else:
            self._enter(self._props["state"])

    def _note(self, problem: str) -> None:
        """In the reader's thread: the page finds it at its next turn."""
        self._problem = problem

    def _note_fanout(self, problem: str) -> None:
        """In the reader's thread, as `_note`."""
        self._fanout_problem = problem

    def _note_registry(self, problem: str | None) -> None:
        """In a thread, as `_note`; None: it answers."""
        self._registry_problem = problem

    def _send(self) -> None:
        if self._fanout_problem is not None and isinstance(self._tail, FanoutTail):
            self._stop()
            self._read_all(last=0)
            self._enter("live")
        if self._problem is not None and self._props["state"] == "live":
            self._pause()
        if self._props["note"] != self._notes():
            self._enter(self._props["state"])
        if changes := self._view.changes(time.monotonic()):
            is_filtered = self._predicate is not None
            rows = [row_of(row, self._reader) for row in changes.rows]
            self.run_method("update", _message(changes, rows, self._needle, is_filtered))

    def _open(self, event: GenericEventArguments) -> None:
        record = self._view.find(int(event.args))
        self._dialog.clear()
        with self._dialog, tag("div", "k-record").props('role="document"'):
            if record is None:
                text("p", "This record is no longer kept here.")
            else:
                draw_record(record, self._reader)
            with tag("div", "k-actions"):
                if record is not None:
                    copy = text("button", "Copy value", "k-button").props('type="button"')
                    copy.on(
                        "click", lambda: ui.clipboard.write(whole_of(record.value, self._reader))
                    )
                close = text("button", "Close", "k-button k-primary").props('type="button"')
                close.on("click", self._dialog.close)
        self._dialog.open()

    def _enter(self, state: str) -> None:
        self._props["state"] = state
        self._props["problem"] = self._problem or ""
        self._props["wrong"] = self._wrong
        self._props["note"] = self._notes()
        self._props["source"] = "fan-out" if isinstance(self._tail, FanoutTail) else "topic"
        self.update()

    def _notes(self) -> str:
        notes = ((NO_FANOUT, self._fanout_problem), (NO_REGISTRY, self._registry_problem))
        return "\n".join(f"{said}: {problem}" for said, problem in notes if problem)

    def _deliver(self, records: Sequence[Record]) -> None:
        """In the reader's thread."""
        if self._decoding is None:
            self._view.add(records)
        else:
            self._decoding.add(records)

    def _stop(self) -> None:
        if self._tail is not None:
            self._tail.stop()
            self._tail = None
        if self._decoding is not None:
            self._decoding.drop()

    def _handle_delete(self) -> None:
        # The page was left, or the browser is gone.
        self._stop()
        super()._handle_delete()


def _message(
    changes: Changes, rows: list[dict[str, Any]], needle: str, is_filtered: bool
) -> dict[str, Any]:
    return {
        "rows": rows,
        "replace": changes.replace,
        "kept": changes.kept,
        "counts": asdict(changes.counts),
        "needle": needle,
        "filtered": is_filtered,
    }
