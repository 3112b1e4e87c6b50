"""Finds a Chromium for the tests of the console, and fetches one where there is none.

In this order: KAFKAESQUE_CHROMIUM, one on PATH, Playwright's own, `playwright install chromium`,
and on Debian as root `apt-get install chromium`. `python scripts/browser.py` prints its path.
Where none can be had, `chromium()` raises NoBrowserError, which says what was tried.
"""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

VARIABLE = "KAFKAESQUE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL_TIMEOUT_S = 300


class NoBrowserError(Exception):
    """No Chromium is here and none could be fetched."""


@functools.cache
def chromium() -> Path:
    """The path of a Chromium that can be run."""
    sources: tuple[Callable[[], Path | None], ...] = (
        _named,
        _on_path,
        _playwrights_own,
        _installed_by_playwright,
        _installed_by_apt,
    )
    for source in sources:
        if found := source():
            return found
    raise NoBrowserError(
        f"no Chromium: {VARIABLE} is not set, none of {', '.join(NAMES)} is on PATH, and neither "
        "`playwright install chromium` nor `apt-get install chromium` brought one"
    )


def _named() -> Path | None:
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if not Path(named).is_file():
        raise NoBrowserError(f"{VARIABLE} names {named}, which is not a file")
    return Path(named)


def _on_path() -> Path | None:
    found = filter(None, map(shutil.which, NAMES))
    return next(map(Path, found), None)


def _playwrights_own() -> Path | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return path if path.is_file() else None


def _installed_by_playwright() -> Path | None:
    return (
        _playwrights_own()
        if _runs(sys.executable, "-m", "playwright", "install", "chromium")
        else None
    )


def _installed_by_apt() -> Path | None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return None
    install = ("apt-get", "install", "-y", "--no-install-recommends", "chromium")
    return _on_path() if _runs("apt-get", "update") and _runs(*install) else None


def _runs(*command: str) -> bool:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=INSTALL_TIMEOUT_S, env=environment
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


if __name__ == "__main__":
    try:
        print(chromium())
    except NoBrowserError as error:
        sys.exit(str(error))
