"""What is around every page: the cluster's name and health on top, the way to the pages beside it.

PAGES is the list of the navigation; a later part of the platform adds its entry here and its
addresses in `frame`. One visit of a browser is one frame: pages change inside it without loading
anew. Above: app.py. Below: the pages.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui import context, ui

from kafkaesque.client.connection import Address
from kafkaesque.console.addresses import (
    CANDLES,
    FANOUT,
    GROUPS,
    PIPELINES,
    SCHEMAS,
    TOPICS,
    TRANSACTIONS,
    name_in,
)
from kafkaesque.console.candles_poller import CandlesPoller
from kafkaesque.console.fanout_poller import FanoutPoller
from kafkaesque.console.pages.candles import candles_page
from kafkaesque.console.pages.fanout import fanout_page
from kafkaesque.console.pages.group import group_page
from kafkaesque.console.pages.groups import groups_page
from kafkaesque.console.pages.parts import Text, live, tag, text
from kafkaesque.console.pages.pipelines import pipelines_page
from kafkaesque.console.pages.schemas import schemas_page
from kafkaesque.console.pages.subject import subject_page
from kafkaesque.console.pages.topic import topic_page
from kafkaesque.console.pages.topics import topics_page
from kafkaesque.console.pages.transactions import transactions_page
from kafkaesque.console.pipelines_poller import PipelinesPoller
from kafkaesque.console.poller import Poller, View
from kafkaesque.console.schemas import Schemas
from kafkaesque.console.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Page:
    """`count` is what stands beside its name: nothing without it, a dash if nobody can tell."""

    label: str
    address: str
    count: Callable[[Snapshot], int | None] | None = None


PAGES = (
    Page("Topics", TOPICS, lambda seen: sum(not t.internal for t in seen.topics.values())),
    Page("Groups", GROUPS, lambda seen: len(seen.groups)),
    Page(
        "Transactions",
        TRANSACTIONS,
        lambda seen: None if seen.transactions_problem else len(seen.transactions),
    ),
    Page("Pipelines", PIPELINES),
    Page("Candles", CANDLES),
)
SCHEMAS_PAGE = Page("Schemas", SCHEMAS)
FANOUT_PAGE = Page("Fan-out", FANOUT)


class _SubPages(ui.sub_pages):
    def _render_404(self) -> None:
        text("p", "There is no such page. Choose one of those on the left.", "k-empty")


def frame(
    poller: Poller,
    pipelines: PipelinesPoller,
    candles: CandlesPoller,
    fanout: FanoutPoller | None,
    schemas: Schemas | None,
) -> None:
    """`fanout` asks the fan-out, if there is one, and `schemas` the registry."""
    client = context.client
    client.on_connect(lambda: poller.watch(client.id))
    client.on_delete(lambda: poller.unwatch(client.id))
    text("a", "Skip to the content", "k-skip").props('href="#content"')
    _bar(poller)
    with tag("div", "k-body"):
        more = [SCHEMAS_PAGE] if schemas is not None else []
        more += [FANOUT_PAGE] if fanout is not None else []
        _navigation(poller, (*PAGES, *more))
        with tag("main", "k-main").props('id="content" tabindex="-1"'):
            _banner(poller)
            pages: dict[str, Callable[..., None]] = {
                "/": lambda: topics_page(poller),
                TOPICS: lambda: topics_page(poller),
                TOPICS + "/{name}": lambda name: topic_page(poller, schemas, name_in(name)),
                GROUPS: lambda: groups_page(poller),
                GROUPS + "/{name}": lambda name: group_page(poller, name_in(name)),
                TRANSACTIONS: lambda: transactions_page(poller),
                PIPELINES: lambda: pipelines_page(pipelines),
                CANDLES: lambda: candles_page(candles),
                CANDLES + "/{name}": lambda name: candles_page(candles, name_in(name)),
                CANDLES + "/{name}/{window}": lambda name, window: candles_page(
                    candles, name_in(name), name_in(window)
                ),
            }
            if schemas is not None:
                pages[SCHEMAS] = lambda: schemas_page(schemas)
                pages[SCHEMAS + "/{name}"] = lambda name: subject_page(schemas, name_in(name))
            if fanout is not None:
                pages[FANOUT] = lambda: fanout_page(fanout)
            _SubPages(pages)


def _bar(poller: Poller) -> None:
    with tag("header", "k-bar"):
        with tag("a", "k-brand").props('href="/topics"'):
            tag("img").props('src="/console/favicon.svg" alt=""')
            text("span", "Kafkaesque")
        with tag("div", "k-cluster"):
            cluster_id = text("span", "", "k-id k-mono").props('title="Cluster id"')
            brokers = text("span", "", "k-brokers")
            state = text("span", "Connecting", "k-link-state").props('role="status"')
        button = text("button", "◐", "k-icon")
        button.props('type="button" title="Light or dark" aria-label="Light or dark"')
        button.on("click", js_handler="() => window.switchTheme()")

    def draw(view: View) -> None:
        if view.snapshot is not None:
            cluster_id.write(view.snapshot.cluster.cluster_id)
            brokers.write(_brokers(view.snapshot))
            brokers.note("title", ", ".join(_addresses(view.snapshot)))
        _draw_state(state, view)

    live(poller, draw)


def _draw_state(state: Text, view: View) -> None:
    if view.problem is not None:
        kind, words = "away", "No answer"
    elif view.snapshot is None:
        kind, words = "connecting", "Connecting"
    elif view.snapshot.troubles:
        kind, words = "troubled", "; ".join(view.snapshot.troubles)
    else:
        kind, words = "live", "Healthy"
    state.note("data-state", kind)
    state.write(words)


def _brokers(snapshot: Snapshot) -> str:
    addresses = _addresses(snapshot)
    if len(addresses) == 1:
        return f"1 broker · {addresses[0]}"
    return f"{len(addresses)} brokers · controller {snapshot.cluster.controller}"


def _addresses(snapshot: Snapshot) -> list[str]:
    return [str(Address(node.host, node.port)) for node in snapshot.cluster.nodes]


def _navigation(poller: Poller, pages: Sequence[Page]) -> None:
    links: dict[str, Text] = {}
    numbers: dict[str, Text] = {}
    with tag("nav", "k-nav").props('aria-label="Pages"'):
        for page in pages:
            links[page.address] = link = text("a", page.label).props(f'href="{page.address}"')
            with link:
                numbers[page.address] = text("span", "", "k-number")

    def mark(path: str) -> None:
        # The topics are also what the bare address shows.
        here = TOPICS if path.split("?")[0] == "/" else path
        for address, link in links.items():
            link.note("aria-current", "page" if here.startswith(address) else None)

    def draw(view: View) -> None:
        if view.snapshot is not None:
            for page in pages:
                if page.count is not None:
                    count = page.count(view.snapshot)
                    numbers[page.address].write("–" if count is None else f"{count:,}")

    router = context.client.sub_pages_router
    router.on_path_changed(mark)
    mark(router.current_path)
    live(poller, draw)


def _banner(poller: Poller) -> None:
    banner = text("div", "", "k-banner").props('role="alert"')

    def draw(view: View) -> None:
        banner.set_visibility(view.problem is not None)
        if view.problem is not None and view.problem_since_s is not None:
            waited_s = time.time() - view.problem_since_s
            problem = view.problem[0].upper() + view.problem[1:]
            stale = " What is shown below was seen last before that." if view.snapshot else ""
            banner.write(f"{problem}. Still trying, for {waited_s:.0f} s now.{stale}")

    live(poller, draw)
