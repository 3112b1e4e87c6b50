"""The fan-out as a user runs it: `kafkaesque fanout` in a process of its own, on free ports."""

import re
from pathlib import Path

from tests.serving_process import PATIENT, ServingProcess

_SERVES = re.compile(r"kafkaesque fanout on (https?://\S+) and tcp (\S+) \(brokers .+\); stop .+\n")


class FanoutProcess(ServingProcess):
    """`url` is its web port, `tcp` HOST:PORT."""

    def __init__(self, bootstrap: str, log_path: Path, *args: str) -> None:
        command = ["fanout", "--brokers", bootstrap, "--port", "0", "--tcp-port", "0", *args]
        super().__init__(command, _SERVES, log_path)
        self.url, self.tcp = self.found[1], self.found[2]


class PatientFanoutProcess(FanoutProcess):
    """Waits longer for a schema registry."""

    command = PATIENT
