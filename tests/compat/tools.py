"""Foreign clients and Apache Kafka itself, installed under the git-ignored `.tools/`.

Each public function sets one tool up at its first call and returns how to run it: `kcat`,
`java_client`, `go_client`, `sarama_client`, `kafka_go_client`, `go_registry_client`, `node_client`,
and `java` for any main class of Apache Kafka. Rules: exact versions; ordinary clients of the public
registries (apt-get, mvn, go, npm); their caches lie inside `.tools/` too; a second run installs
nothing. A tool that cannot be had raises ToolMissingError with the cause and the cure, and again at
once whenever it is asked for.
Above: drivers.py and apache_kafka.py.

`python -m tests.compat.tools` sets everything up.
"""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".tools"
CLIENTS = ROOT / "tests" / "compat" / "clients"
MAVEN_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
SMALL_JVM = ("-Xmx512m", "-XX:+UseSerialGC")
KCAT_PACKAGES = ("kcat", "librdkafka1", "libyajl2")


class ToolMissingError(Exception):
    """A foreign tool could not be set up; the message says why and what to install."""


@dataclass(frozen=True, slots=True)
class Tool:
    """How to start a program: its command line, and what it needs in its environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    def full_environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


def _once(set_up: Callable[[], Tool]) -> Callable[[], Tool]:
    """Set up at the first call; a failure is remembered as well, not tried again for every test."""
    outcome: list[Tool | ToolMissingError] = []

    @functools.wraps(set_up)
    def remembered() -> Tool:
        if not outcome:
            try:
                outcome.append(set_up())
            except ToolMissingError as missing:
                outcome.append(missing)
        if isinstance(outcome[0], ToolMissingError):
            raise outcome[0]
        return outcome[0]

    return remembered


@_once
def kcat() -> Tool:
    """The kcat on the PATH, else Debian's packages unpacked beside each other: no root needed."""
    if found := shutil.which("kcat"):
        return Tool((found,))
    _require("apt-get", "install kcat and put it on the PATH")
    _require("dpkg-deb", "install kcat and put it on the PATH")
    directory = _install("kcat", " ".join(KCAT_PACKAGES), _unpack_kcat)
    libraries = [str(path) for path in (directory / "usr" / "lib").glob("*-linux-gnu*")]
    binary = directory / "usr" / "bin" / "kcat"
    return Tool((str(binary),), {"LD_LIBRARY_PATH": ":".join(libraries)})


@_once
def java_client() -> Tool:
    """Our one Java source file over Kafka's own client."""
    _require("javac", "install a JDK, version 17 or newer")
    jars = _kafka_jars()
    source = CLIENTS / "java" / "CompatClient.java"

    def compile_source(directory: Path) -> None:
        _run(["javac", "-cp", f"{jars}/*", "-d", str(directory), str(source)])

    classes = _install("java-client", source.read_text(), compile_source)
    flags = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    return Tool(("java", *flags, "-cp", f"{classes}:{jars}/*", "CompatClient"))


@_once
def go_client() -> Tool:
    """Our Go program over franz-go."""
    return _go_program("go", "go-client", "compatclient")


@_once
def sarama_client() -> Tool:
    """Our Go program over Sarama."""
    return _go_program("go-sarama", "sarama-client", "saramaclient")


@_once
def kafka_go_client() -> Tool:
    """Our Go program over segmentio's kafka-go."""
    return _go_program("go-segmentio", "kafka-go-client", "kafkagoclient")


@_once
def go_registry_client() -> Tool:
    """Our Go program over Confluent's serializers, which need a C compiler for librdkafka."""
    _require("gcc", "install a C compiler")
    return _go_program("go-registry", "go-registry-client", "registryclient")


@_once
def node_client() -> Tool:
    """Our JavaScript program over kafkajs, with the codecs that kafkajs leaves to others."""
    _require("node", "install Node.js, version 18 or newer")
    _require("npm", "install npm, version 9 or newer")
    manifest = CLIENTS / "js" / "package.json"

    def install_packages(directory: Path) -> None:
        shutil.copy(manifest, directory)
        flags = ["--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
        cache = ["--cache", str(TOOLS / "npm-cache")]
        _run(["npm", "install", "--prefix", str(directory), *flags, *cache])

    packages = _install("node-client", manifest.read_text(), install_packages)
    environment = {"NODE_PATH": str(packages / "node_modules")}
    return Tool(("node", str(CLIENTS / "js" / "client.js")), environment)


def _go_program(folder: str, name: str, binary: str) -> Tool:
    _require("go", "install Go, version 1.25 or newer")
    source = CLIENTS / folder
    # Go makes its module cache read-only by default, which `rm -r .tools` would stumble over.
    caches = {"GOPATH": str(TOOLS / "gopath"), "GOCACHE": str(TOOLS / "gocache")}
    environment = {**caches, "GOFLAGS": "-modcacherw -buildvcs=false"}

    def build(directory: Path) -> None:
        _run(["go", "build", "-C", str(source), "-o", str(directory), "."], environment)

    content = "".join((source / name).read_text() for name in ("main.go", "go.mod", "go.sum"))
    return Tool((str(_install(name, content, build) / binary),))


def java(main_class: str, *arguments: str, flags: Sequence[str] = SMALL_JVM) -> list[str]:
    """The command line of one of Apache Kafka's own programs."""
    return ["java", *flags, "-cp", f"{_kafka_jars()}/*", main_class, *arguments]


def ecosystem_jars() -> list[Path]:
    """The jars of Apache Kafka with Streams, Connect, MirrorMaker and the metadata shell."""
    jars = {jar.name: jar for jar in _ecosystem_jars().glob("*.jar")}
    jars |= {jar.name: jar for jar in _kafka_jars().glob("*.jar")}
    return [jars[name] for name in sorted(jars)]


@functools.cache
def _kafka_jars() -> Path:
    return _maven_jars("kafka", CLIENTS / "java" / "pom.xml")


@functools.cache
def _ecosystem_jars() -> Path:
    return _maven_jars("kafka-ecosystem", CLIENTS / "java" / "ecosystem" / "pom.xml")


def _maven_jars(name: str, pom: Path) -> Path:
    _require("java", "install a JDK, version 17 or newer")
    _require("mvn", "install Maven, version 3.8 or newer")

    def copy_dependencies(directory: Path) -> None:
        goal = f"{MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies"
        options = [f"-DoutputDirectory={directory}", f"-Dmaven.repo.local={TOOLS / 'm2'}"]
        _run(["mvn", "--batch-mode", "--quiet", "--file", str(pom), goal, *options])

    return _install(name, pom.read_text(), copy_dependencies)


def _unpack_kcat(directory: Path) -> None:
    downloads = directory / "packages"
    downloads.mkdir()
    _run(["apt-get", "download", "--quiet", *KCAT_PACKAGES], cwd=downloads)
    for package in downloads.glob("*.deb"):
        _run(["dpkg-deb", "--extract", str(package), str(directory)])


def _install(name: str, content: str, steps: Callable[[Path], None]) -> Path:
    """Run the steps into `.tools/<name>` unless that holds exactly this content already."""
    directory = TOOLS / name
    ready = directory / ".ready"
    fingerprint = hashlib.sha256(content.encode()).hexdigest()
    if ready.exists() and ready.read_text() == fingerprint:
        return directory
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    steps(directory)
    ready.write_text(fingerprint)
    return directory


def _require(program: str, cure: str) -> None:
    if shutil.which(program) is None:
        raise ToolMissingError(f"{program} is not on the PATH: {cure}")


def _run(
    command: list[str], environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> None:
    finished = subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        said = (finished.stdout + finished.stderr)[-2000:]
        raise ToolMissingError(f"`{' '.join(command)}` failed with {finished.returncode}:\n{said}")


if __name__ == "__main__":
    for set_up in (
        kcat,
        java_client,
        go_client,
        sarama_client,
        kafka_go_client,
        go_registry_client,
        node_client,
    ):
        sys.stdout.write(f"{set_up.__name__}: {' '.join(set_up().command)}\n")
