"""`kafkaesque` with a minute's patience for a schema registry that is away, instead of seconds:

    python tests/patient_command.py fanout --registry …

On a busy machine a registry takes longer to start again than the gateway and the fan-out wait.
"""

from kafkaesque.cli.main import main
from kafkaesque.gateway import schemas

if __name__ == "__main__":
    setattr(schemas, "PATIENCE_S", 60.0)  # noqa: B010
    main()
