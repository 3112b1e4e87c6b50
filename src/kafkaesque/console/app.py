"""The console's process: builds the pages, serves them, stops when told to.

The port is taken before anything else, so that a taken one is said at once and in our words. One
poller and one set of open tails belong to the process; both end with it. NiceGUI keeps its state in
module variables: one console per process.
Above: cli/console.py. Below: pages/, poller.py, about.py, serving.py.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from nicegui import Client, ui
from nicegui import app as nicegui_app

from kafkaesque.client.connection import Address, Connection
from kafkaesque.console.about import add_routes
from kafkaesque.console.candles_poller import CandlesPoller
from kafkaesque.console.fanout_poller import FanoutPoller
from kafkaesque.console.pages.frame import frame
from kafkaesque.console.pipelines_poller import PipelinesPoller
from kafkaesque.console.poller import Poller
from kafkaesque.console.schemas import Schemas
from kafkaesque.serving import Server, listen

WEB = Path(__file__).with_name("web")
HEAD = """
<link rel="stylesheet" href="/console/console.css">
<script src="/console/console.js"></script>
"""


def run(
    connection: Connection,
    address: Address,
    ready: Callable[[Address], None],
    fanout_url: str | None = None,
    schemas: Schemas | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. `ready` is told the address when the page can be opened."""
    listener = listen("console", *address)
    # It would report every address that somebody mistypes.
    logging.getLogger("nicegui").setLevel(logging.ERROR)
    host, port = listener.getsockname()[:2]
    nicegui_app.on_startup(lambda: ready(Address(host, port)))
    config = uvicorn.Config(
        _application(connection, fanout_url, schemas),
        log_level="warning",
        timeout_graceful_shutdown=1,
    )
    with listener:
        Server(config).run(sockets=[listener])


def _application(
    connection: Connection, fanout_url: str | None, schemas: Schemas | None
) -> FastAPI:
    poller = Poller(connection, fanout_url)
    pipelines = PipelinesPoller(connection, poller)
    candles = CandlesPoller(connection)
    fanout = None if fanout_url is None else FanoutPoller(fanout_url)
    application = FastAPI(openapi_url=None)
    add_routes(application, connection, poller)
    nicegui_app.add_static_files("/console", WEB, max_cache_age=0)
    nicegui_app.on_shutdown(_leave_all_pages)
    nicegui_app.on_shutdown(poller.stop)
    nicegui_app.on_shutdown(pipelines.stop)
    nicegui_app.on_shutdown(candles.stop)
    if fanout is not None:
        nicegui_app.on_shutdown(fanout.stop)
    if schemas is not None:
        nicegui_app.on_shutdown(schemas.stop)
    ui.add_head_html(HEAD, shared=True)
    ui.run_with(
        application,
        root=lambda: frame(poller, pipelines, candles, fanout, schemas),
        title="Kafkaesque",
        favicon=WEB / "favicon.svg",
        tailwind=False,
        show_welcome_message=False,
    )
    return application


def _leave_all_pages() -> None:
    # Python 3.11 may lose the cancellation that would end their loops, and NiceGUI then waits.
    for client in list(Client.instances.values()):
        client.delete()
