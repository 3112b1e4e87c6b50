"""A run of a plan with one fault, at one call of the broker."""

import errno
import os

from tests.crash.forgetting import Directory
from tests.simulation.faults.files import FaultyFiles, Witness
from tests.simulation.files import SimulatedFiles
from tests.simulation.plan import Fault, Plan
from tests.simulation.world import World, is_of_a_client

_CUT_SECONDS = 0.7
_CAUSES = (os.strerror(errno.EIO), os.strerror(errno.ENOSPC))
_WITHOUT_BYTES = ("Files.rename", "File.sync")


class FaultyWorld(World):
    def __init__(self, plan: Plan, witness: Witness, is_cut: bool = False) -> None:
        """`is_cut`: soon after the fault the power goes."""
        super().__init__(plan)
        self._is_cut = is_cut
        self._witness = witness
        self._last_end = ""
        witness.state = self._state

    def _new_files(self, seed: str, root: Directory | None) -> SimulatedFiles:
        files = FaultyFiles(seed, root, ())
        files.witness = self._witness
        return files

    def _state(self) -> str:
        if self.is_stopping:
            return "stopping"
        if self._is_started:
            return "serving"
        if self.lives == 1:
            return "first start"
        return "start" if self._last_end == "stop" else "recovery"

    def _live(self) -> None:
        self._is_started = False
        super()._live()

    async def _start(self) -> None:
        await super()._start()
        self._is_started = True

    def _crashed(self, kind: str) -> None:
        self._last_end = kind
        super()._crashed(kind)

    def _faulted(self, operation: str, fault: Fault, path: str) -> None:
        super()._faulted(operation, fault, path)
        if self._is_cut:
            self.loop.call_later(_CUT_SECONDS, self.files.crash, "cut")

    async def _stop(self) -> None:
        await super()._stop()
        self._last_end = "stop"

    def _last_fault(self) -> float:
        return self._witness.fired_at or 0.0

    def _may_refuse_to_start(self, why: str, fired: list[tuple[Fault, str]]) -> bool:
        """Where the disk has failed, and with a reason. Where it is full, and there is something to
        read, only if it cannot even change a name or keep what it has.
        """
        is_said = "/data" in why and any(cause in why for cause in _CAUSES)
        needs_no_room = any(
            fault.operations[0] in _WITHOUT_BYTES and not is_of_a_client(path)
            for fault, path in fired
        )
        return is_said and (needs_no_room or super()._may_refuse_to_start(why, fired))
