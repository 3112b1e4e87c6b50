"""How our web servers take a port, answer without delay, and stop."""

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import httpx
import pytest
import uvicorn
import uvloop
from tests.foreign import TIMEOUT_S

from kafkaesque.errors import StartError
from kafkaesque.serving import Server, listen

LOOPS = pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
Send = Callable[[dict[str, Any]], Awaitable[None]]


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


HOSTS = pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        pytest.param(
            "::1", "[::1]", marks=pytest.mark.skipif(not _has_ipv6(), reason="there is no IPv6")
        ),
    ],
)


@HOSTS
def test_a_port_that_is_taken_is_named_with_what_chooses_another(host: str, shown: str) -> None:
    with listen("console", host, 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(StartError) as caught:
            listen("registry", host, port)
    assert str(caught.value) == (
        f"the registry cannot listen on {shown}:{port} (Address already in use): choose another "
        "port with --port (0 for a free one), or another address with --host"
    )
    # Let go of, it can be had again at once.
    listen("registry", host, port).close()


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "no host"])
def test_an_address_that_is_not_of_this_machine_is_named_with_what_chooses_another(
    host: str,
) -> None:
    with pytest.raises(StartError, match=r", or another address with --host$") as caught:
        listen("gateway", host, 0)
    shown = f"[{host}]:0" if ":" in host else f"{host}:0"
    assert str(caught.value).startswith(f"the gateway cannot listen on {shown} (")
    assert "while" not in str(caught.value)


@HOSTS
@LOOPS
def test_no_answer_waits_for_an_acknowledgement(
    host: str, shown: str, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """TCP_NODELAY, at the connections that are accepted too."""

    async def scene() -> int:
        loop = asyncio.get_running_loop()
        accepted: asyncio.Future[int] = loop.create_future()

        class Look(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                connection = transport.get_extra_info("socket")
                accepted.set_result(_no_delay(connection))
                transport.close()

        with listen("registry", host, 0) as listener:
            assert _no_delay(listener), shown
            async with await loop.create_server(Look, sock=listener):
                _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
                with closing(writer):
                    return await asyncio.wait_for(accepted, TIMEOUT_S)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(scene())


@LOOPS
def test_the_first_signal_stops_it_quietly_and_more_do_nothing(
    new_loop: Callable[[], asyncio.AbstractEventLoop], caplog: pytest.LogCaptureFixture
) -> None:
    async def app(scope: dict[str, Any], _receive: object, send: Send) -> None:
        """Answers when the server is told to stop, again and again, and has begun to."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
        while any(it.is_serving() for it in server.servers):
            await asyncio.sleep(0.01)
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0.3)  # One that was in a hurry would be gone now.
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"until the end"})

    server = Server(uvicorn.Config(app, lifespan="off", log_level="warning"))
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with (
        listen("console", "127.0.0.1", 0) as listener,
        ThreadPoolExecutor(1) as threads,
        asyncio.Runner(loop_factory=new_loop) as runner,
    ):
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        answer = threads.submit(httpx.get, url, timeout=TIMEOUT_S)
        runner.run(server.serve(sockets=[listener]))
        assert answer.result().text == "until the end"
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert not server.force_exit
    assert caplog.text == ""


def _no_delay(connection: socket.socket) -> int:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
