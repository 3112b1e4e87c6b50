"""Clients load nothing of the extra [schemas] before a schema is asked for."""

import subprocess
import sys

PROGRAM = """
import sys
import kafkaesque.client.app, kafkaesque.client.consumer, kafkaesque.client.producer
import kafkaesque.client.registry, kafkaesque.client.schemas, kafkaesque.client.table
from kafkaesque.client.schema_forms.forms import forms
from kafkaesque.client.schema_forms.options import SchemaOptions
forms("avro", "protobuf", SchemaOptions())
extra = {"fastavro", "httpx", "jsonschema_rs", "google.protobuf", "pydantic"}
print(*sorted(extra & {*sys.modules}))
"""


def test_nothing_of_schemas_is_loaded_by_importing_the_clients() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


def test_what_is_missing_is_told_with_the_cure() -> None:
    program = """
import sys
sys.modules["fastavro"] = None
from kafkaesque.client.registry import RegistryClient, Schema
from kafkaesque.client.schemas import codec
for call in (lambda: codec(Schema('"long"'), None), lambda: RegistryClient()):
    try:
        call()
    except ImportError as error:
        print(error)
    sys.modules["httpx"] = None
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    said = done.stdout.splitlines()
    assert len(said) == 2
    assert all("pip install 'kafkaesque-broker[schemas]'" in line for line in said)
    assert "fastavro" in said[0]
    assert "httpx" in said[1]
