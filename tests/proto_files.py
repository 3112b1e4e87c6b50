"""Protobuf files compiled at test time: as a registry serializes them, and as generated classes."""

import importlib
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from types import ModuleType

from google.protobuf.descriptor_pb2 import FileDescriptorSet


def serialized(directory: Path, texts: dict[str, str]) -> dict[str, str]:
    """Each file's FileDescriptorProto in base64, as `format=serialized` gives it."""
    target = directory / "files.bin"
    _protoc(directory, texts, f"--descriptor_set_out={target}")
    files = FileDescriptorSet.FromString(target.read_bytes()).file
    return {file.name: b64encode(file.SerializeToString()).decode() for file in files}


def generated(directory: Path, texts: dict[str, str]) -> dict[str, ModuleType]:
    """Each file's module. Names of files and packages must be unique in this process."""
    _protoc(directory, texts, f"--python_out={directory}")
    sys.path.insert(0, str(directory))
    try:
        return {name: _module(name) for name in texts}
    finally:
        sys.path.remove(str(directory))


def _module(name: str) -> ModuleType:
    return importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")


def _protoc(directory: Path, texts: dict[str, str], *options: str) -> None:
    for name, text in texts.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I", str(directory), *options]
    subprocess.run([*command, *texts], check=True)
