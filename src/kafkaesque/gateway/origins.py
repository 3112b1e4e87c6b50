"""Which web pages may connect: a browser names the page's origin, and cannot lie about it.

    Origin: https://app.example.org:8443      scheme, host, and the port unless it is the usual one

Programs send no Origin and are let in: tokens (access.py) are for them. With no list, only pages
that the gateway itself has served may connect. A list has origins, with `*` for a part of a host
or for a port (`https://*.example.org`, `http://localhost:*`), or `*` alone for all.
Above: events/, fanout/. Below: globs.py.
"""

import re

from kafkaesque.gateway.globs import matches

_ORIGIN = re.compile(r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d+))?")
_USUAL_PORTS = {"http": "80", "https": "443"}


def origin_allowed(origin: str | None, host: str | None, allowed: tuple[str, ...]) -> bool:
    """`host` is the request's header Host: where the browser believes that it is talking to."""
    if origin is None or "*" in allowed:
        return True
    # A sandboxed page says "null", which is nobody in particular.
    found = _ORIGIN.fullmatch(origin.lower())
    if found is None:
        return origin in allowed
    scheme, name, port = found.groups()
    usual = _USUAL_PORTS[scheme]
    if not allowed:
        return (host or "").lower() in _spellings(name, port, usual)
    spelled = {f"{scheme}://{place}" for place in _spellings(name, port, usual)}
    return any(
        matches(pattern.lower().rstrip("/").encode(), text.encode())
        for pattern in allowed
        for text in spelled
    )


def _spellings(name: str, port: str | None, usual: str) -> set[str]:
    return {name, f"{name}:{usual}"} if port in (None, usual) else {f"{name}:{port}"}
