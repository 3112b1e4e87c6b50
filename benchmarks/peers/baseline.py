"""Ours as it was at a commit, by the same Python and packages: what a change has cost or gained."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.peers.kafkaesque import CACHED, DURABLE, KAFKAESQUE, MeteredBroker
from benchmarks.peers.peer import Peer


class BaselineBroker(MeteredBroker):
    def __init__(self, sources: Path, data_dir: Path) -> None:
        self._sources = sources
        super().__init__(data_dir)

    def start(self) -> "BaselineBroker":
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = str(self._sources)
        try:
            super().start()
        finally:
            if before is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = before
        return self


BEFORE = tuple(replace(each, name=f"{each.name} before") for each in (DURABLE, CACHED))


def baseline(revision: str, sources: Path) -> Peer:
    def versions() -> Mapping[str, str]:
        return {"baseline": revision}

    return Peer(
        f"Kafkaesque {revision}",
        lambda data_dir: BaselineBroker(sources, data_dir),
        versions,
        BEFORE,
        KAFKAESQUE.loop_delay,
    )
