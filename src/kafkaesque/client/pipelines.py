"""What pipelines tell of themselves, and are told: the topic __pipelines.

    key "stocks"           {"run": …, "state": "running", "queries": [{"name": …, …}], …}
    key "stocks/command"   {"command": "stop", "run": …, "at": …}

The topic is compacted: what a pipeline said last stays. A pipeline writes its own status, a few
seconds apart, and watches for commands that name its run; whoever wants it stopped or started again
writes one. Nothing but the cluster is between them. This file has the nouns, and loads no client
library. Above: pipelines/, console/, cli/pipeline/.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

TOPIC: Final = "__pipelines"
COMMAND: Final = "/command"
SILENT_MS: Final = 15_000
"""A pipeline that has said nothing for so long, and was running, is lost."""

State: TypeAlias = Literal["starting", "running", "restarting", "stopped", "finished", "failed"]
ALIVE: Final[tuple[State, ...]] = ("starting", "running", "restarting", "stopped")
"""`stopped` waits to be started again; who ends says `finished`, or `failed`."""
Verb: TypeAlias = Literal["stop", "start"]


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One query, as its last progress says. Rates are rows a second; None: not known yet."""

    name: str
    batch: int = -1
    rows_in: int = 0
    """Rows since this run began."""
    rate_in: float | None = None
    rate_processed: float | None = None
    latency_ms: int | None = None
    """How long the last batch with rows took."""
    watermark_ms: int | None = None
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0
    """Since this run began: rows behind the watermark, which windows leave out."""
    behind: int | None = None
    """Records of the topics that it has not read yet."""
    source: str = ""
    sink: str = ""


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    name: str
    run: str
    state: State
    at_ms: int
    started_ms: int
    master: str = ""
    restarts: int = 0
    error: str | None = None
    queries: tuple[QueryStatus, ...] = field(default=())

    def is_lost(self, now_ms: int) -> bool:
        return self.state in ALIVE and now_ms - self.at_ms > SILENT_MS

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Command:
    verb: Verb
    name: str
    run: str
    at_ms: int

    @property
    def key(self) -> bytes:
        return f"{self.name}{COMMAND}".encode()

    def to_json(self) -> bytes:
        told = {"command": self.verb, "run": self.run, "at": self.at_ms}
        return json.dumps(told, separators=(",", ":")).encode()


def read(key: bytes | None, value: bytes | None) -> PipelineStatus | Command | None:
    """What a record of the topic says; None if it says nothing that we know."""
    try:
        name = (key or b"").decode()
        told: Any = json.loads(value or b"null")
        if not name or not isinstance(told, Mapping):
            return None
        if name.endswith(COMMAND):
            return _command(name.removesuffix(COMMAND), told)
        return _status(told)
    except (ValueError, KeyError, TypeError):
        return None


def _command(name: str, told: Mapping[str, Any]) -> Command | None:
    verb = told["command"]
    if verb not in get_args(Verb):
        return None
    return Command(verb, name, str(told["run"]), int(told["at"]))


def _status(told: Mapping[str, Any]) -> PipelineStatus | None:
    if told["state"] not in get_args(State):
        return None
    queries = tuple(QueryStatus(**each) for each in told["queries"])
    return PipelineStatus(**{**told, "queries": queries})
