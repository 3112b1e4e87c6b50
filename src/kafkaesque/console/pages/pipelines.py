"""The pipelines: how fast, how late and how large each is, and a button to stop it or start it.

What they say is read only while this page is open. A command is a record that the pipeline's own
process reads: it stops its queries and waits, or goes on from its checkpoint.
Above: frame.py. Below: ../pipelines_poller.py, web/pipelines.js.
"""

from functools import partial
from typing import Any, get_args

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.pipelines import Verb
from kafkaesque.console.pages.parts import Watch, live, tag, text, title
from kafkaesque.console.pipelines_poller import PipelinesPoller, PipelinesView

NOT_ASKED = "Asking the cluster …"
NONE_YET = (
    "No pipeline has run on this cluster yet. Run one:\n"
    "kafkaesque pipeline run stocks\n"
    "or begin one of your own: kafkaesque pipeline new NAME"
)


class PipelinePanels(Element, component="../web/pipelines.js"):
    def __init__(self, poller: PipelinesPoller) -> None:
        super().__init__()
        self._poller = poller
        self._props["pipelines"] = []
        self._props["empty"] = NOT_ASKED
        self._problem = text("p", "", "k-banner").props('role="alert"')
        self._problem.set_visibility(False)
        self._dialog = ui.dialog()
        self.on("tell", self._take)

    def show(self, rows: list[dict[str, Any]] | None) -> None:
        self._props["pipelines"] = rows or []
        self._props["empty"] = NOT_ASKED if rows is None else NONE_YET
        self.update()

    async def _take(self, event: GenericEventArguments) -> None:
        verb, name, run = (str(event.args[each]) for each in ("verb", "name", "run"))
        if verb == "stop":
            self._ask(name, run)
        elif verb in get_args(Verb):
            await self._tell("start", name, run)

    def _ask(self, name: str, run: str) -> None:
        self._dialog.clear()
        with self._dialog, tag("div", "k-record").props('role="document"'):
            text("h2", f"Stop {name}?")
            text(
                "p",
                "Its queries end, and nothing is lost: they go on where they were when it is "
                "started again.",
            )
            with tag("div", "k-actions"):
                keep = text("button", "Let it run", "k-button").props('type="button"')
                keep.on("click", self._dialog.close)
                yes = text("button", "Stop it", "k-button k-danger").props('type="button"')
                yes.on("click", partial(self._stop, name, run))
        self._dialog.open()

    async def _stop(self, name: str, run: str) -> None:
        self._dialog.close()
        await self._tell("stop", name, run)

    async def _tell(self, verb: Verb, name: str, run: str) -> None:
        try:
            is_told = await self._poller.tell(verb, name, run)
            problem = "" if is_told else f"This run of {name} is over: see its new one here."
        except ClusterError as error:
            problem = f"{name} could not be told to {verb}: {error}"
        self._problem.write(problem)
        self._problem.set_visibility(bool(problem))


def pipelines_page(poller: PipelinesPoller) -> None:
    title("Pipelines")
    Watch(poller)
    panels = PipelinePanels(poller)

    def draw(view: PipelinesView) -> None:
        panels.show(view.rows)

    live(poller, draw)
