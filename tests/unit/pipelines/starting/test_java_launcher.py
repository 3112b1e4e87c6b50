"""The launcher hands on every argument as it was, but for modules that are not there."""

import subprocess
from pathlib import Path

import pytest

from kafkaesque.pipelines.starting.caches import SessionError
from kafkaesque.pipelines.starting.launcher import launcher, modules_of

PRINT = "#!/bin/sh\nfor argument; do printf '%s\\n' \"$argument\"; done\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java in a place with a blank and a quote, which prints its arguments."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "it's a java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(PRINT)
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text('JAVA_VERSION="25"\nMODULES="java.base java.sql"\n')
    return home


def handed_on(home: Path, *arguments: str) -> list[str]:
    script = launcher(home) / "bin" / "java"
    done = subprocess.run([script, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (["--add-modules=jdk.incubator.vector"], []),
        (["--add-modules", "jdk.incubator.vector"], []),
        (["--add-modules=jdk.incubator.vector,java.sql"], ["--add-modules=java.sql"]),
        (["--add-modules=ALL-SYSTEM"], ["--add-modules=ALL-SYSTEM"]),
        (["--add-opens=java.gone/a.b=ALL-UNNAMED"], []),
        (["--add-opens", "java.gone/a.b=ALL-UNNAMED"], []),
        (["--add-opens=java.base/a=ALL-UNNAMED"], ["--add-opens=java.base/a=ALL-UNNAMED"]),
        (["--add-reads=java.gone=java.base"], []),
    ],
)
def test_modules_that_are_not_there_are_dropped(
    home: Path, given: list[str], left: list[str]
) -> None:
    assert handed_on(home, "-Xmx1g", *given, "Main") == ["-Xmx1g", *left, "Main"]


def test_other_arguments_come_through_as_they_are(home: Path) -> None:
    odd = ["-cp", "a b:*", "-Da=$HOME `id`", "-XX:+X", "Main", "", "it's", "*", "-n"]
    assert handed_on(home, *odd) == odd


@pytest.mark.parametrize("main", [["Main"], ["-jar", "a.jar"], ["-cp", "x", "Main"]])
def test_the_programs_own_arguments_are_not_looked_at(home: Path, main: list[str]) -> None:
    own = [*main, "--add-modules=jdk.incubator.vector", "--add-opens", "java.gone/x=y"]
    assert handed_on(home, *own) == own


def test_a_launcher_that_was_changed_is_made_anew(home: Path) -> None:
    script = launcher(home) / "bin" / "java"
    script.write_text("#!/bin/sh\nexit 3\n")
    assert handed_on(home, "-version") == ["-version"]
    assert [path.name for path in script.parent.iterdir()] == ["java"]


def test_a_cache_directory_that_cannot_be_made_is_named(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(SessionError, match="set XDG_CACHE_HOME"):
        launcher(home)


def test_a_java_that_does_not_list_its_modules_has_none_that_we_know_of(tmp_path: Path) -> None:
    assert modules_of(tmp_path) == ()
