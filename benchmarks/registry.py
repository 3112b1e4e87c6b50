"""`python -m benchmarks.registry`: how quickly schemas are looked up and registered.

Each figure stands beside the same requests to a bare Starlette application that answers with a
constant of the same size, on the same machine in the same minute: what HTTP itself costs. Lookups
and registrations by one client after another, registrations also by sixteen at once; with one
registry, and with two in turns on one topic.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from tests.broker_process import BrokerProcess
from tests.registry_process import RegistryProcess

CLIENTS = 16
_BARE = """
import sys, uvicorn, uvloop
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
body = sys.argv[1].encode()
async def constant(request):
    await request.body()
    return Response(body, media_type="application/json")
app = Starlette(routes=[Route("/{path:path}", constant, methods=["GET", "POST"])])
class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)
Server(uvicorn.Config(app, port=0, log_level="warning")).run()
"""


class Latency(NamedTuple):
    p50_ms: float
    p99_ms: float
    per_s: float


def schema(number: int) -> str:
    """The stock schema, with one field that makes it new."""
    fields = [("symbol", "string"), ("price", "double"), ("volume", "long"), ("time", "long")]
    listed: list[dict[str, Any]] = [{"name": name, "type": kind} for name, kind in fields]
    listed.append({"name": f"extra{number}", "type": "int", "default": 0})
    return json.dumps({"type": "record", "name": "Stock", "fields": listed})


def latency(ask: Callable[[int], None], count: int) -> Latency:
    """One after another, after some that do not count."""
    for number in range(-20, 0):
        ask(number)
    taken = []
    began = time.perf_counter()
    for number in range(count):
        start = time.perf_counter()
        ask(number)
        taken.append((time.perf_counter() - start) * 1000)
    elapsed = time.perf_counter() - began
    cuts = statistics.quantiles(taken, n=100)
    return Latency(cuts[49], cuts[98], count / elapsed)


def together(ask: Callable[[int], None], count: int) -> float:
    """By sixteen clients at once: how many a second."""
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(ask, range(-CLIENTS, 0)))
        began = time.perf_counter()
        list(threads.map(ask, range(count)))
        return count / (time.perf_counter() - began)


@contextmanager
def bare(body: str) -> Iterator[str]:
    """The application that does nothing: its address."""
    command = [sys.executable, "-c", _BARE, body]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


class Scene:
    """Registries of one broker, and those who ask them."""

    def __init__(self, urls: list[str], http: httpx.Client) -> None:
        self._urls = urls
        self._http = http
        self._made = 0
        first = self._post("/subjects/known/versions", {"schema": schema(0)}).json()
        self.known = f"/schemas/ids/{first['id']}"
        self.body = http.get(urls[0] + self.known).text

    def look_up(self, number: int) -> None:
        self._require(self._http.get(self._urls[number % len(self._urls)] + self.known))

    def register_again(self, number: int) -> None:
        self._post("/subjects/known/versions", {"schema": schema(0)}, number)

    def register(self, number: int) -> None:
        """A schema that nobody has seen. Each subject has one: comparing is not what is timed."""
        self._made += 1
        made = f"{self._made}-{number}-{time.perf_counter_ns()}"
        body = {"schema": schema(time.perf_counter_ns())}
        self._post(f"/subjects/new-{made}/versions", body, number)

    def _post(self, path: str, body: dict[str, Any], number: int = 0) -> httpx.Response:
        url = self._urls[number % len(self._urls)]
        return self._require(self._http.post(url + path, json=body))

    def _require(self, answer: httpx.Response) -> httpx.Response:
        if answer.status_code != 200:
            raise RuntimeError(answer.text)
        return answer


def show(name: str, ours: Latency, plain: Latency) -> None:
    print(
        f"{name:44} p50 {ours.p50_ms:7.2f} ms  p99 {ours.p99_ms:7.2f} ms  {ours.per_s:7.0f}/s   "
        f"bare p50 {plain.p50_ms:5.2f} p99 {plain.p99_ms:5.2f}   "
        f"ratio {ours.p50_ms / plain.p50_ms:5.1f}× / {ours.p99_ms / plain.p99_ms:5.1f}×"
    )


def measure(registries: int, scale: float, directory: Path) -> None:
    many, few = int(2000 * scale), int(150 * scale)
    with ExitStack() as stack:
        broker = stack.enter_context(BrokerProcess(directory / f"data{registries}"))
        urls = [
            stack.enter_context(RegistryProcess(broker.bootstrap, directory / f"{number}.log")).url
            for number in range(registries)
        ]
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        http = stack.enter_context(httpx.Client(timeout=60, limits=limits))
        scene = Scene(urls, http)
        plain = stack.enter_context(bare(scene.body))

        def ask_plain(_number: int) -> None:
            http.get(plain + scene.known)

        def post_plain(_number: int) -> None:
            http.post(f"{plain}/subjects/known/versions", json={"schema": schema(0)})

        print(f"{registries} registr{'y' if registries == 1 else 'ies, in turns'}")
        asking, posting = latency(ask_plain, many), latency(post_plain, many)
        show("  look up by id", latency(scene.look_up, many), asking)
        show("  register what is there", latency(scene.register_again, many), posting)
        show("  register what is new", latency(scene.register, few), posting)
        rate, plain_rate = together(scene.register, 4 * few), together(post_plain, many)
        print(
            f"  register what is new, {CLIENTS} clients at once {rate:12.0f}/s   "
            f"bare {plain_rate:.0f}/s   ratio 1/{plain_rate / rate:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="more or less of each load")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory() as directory:
        for registries in (1, 2):
            measure(registries, scale, Path(directory))


if __name__ == "__main__":
    main()
