"""`kafkaesque` with a minute's patience for others that are away, instead of seconds:

    python tests/patient_command.py fanout --registry …

On a busy machine a registry takes longer to start again than gateway and fan-out wait for it, and a
broker longer than a registry does.
"""

from kafkaesque.cli.main import main
from kafkaesque.gateway import schemas
from kafkaesque.registry import writing

if __name__ == "__main__":
    setattr(schemas, "PATIENCE_S", 60.0)  # noqa: B010
    setattr(writing, "_ABSENCE_S", 60.0)  # noqa: B010
    main()
