"""The gateway as a user runs it: `kafkaesque gateway` in a process of its own, on a free port."""

import re
from pathlib import Path

from tests.serving_process import ServingProcess

_SERVES = re.compile(r"kafkaesque gateway on (http://\S+) \(brokers \S+\); stop with Ctrl-C\n")


class GatewayProcess(ServingProcess):
    def __init__(self, bootstrap: str, log_path: Path, *args: str, port: int = 0) -> None:
        command = ["gateway", "--brokers", bootstrap, "--port", str(port), *args]
        super().__init__(command, _SERVES, log_path)
        self.url = self.found[1]
        self.port = int(self.url.rpartition(":")[2])
