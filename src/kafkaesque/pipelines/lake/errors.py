"""What can go wrong with a lake, each with its cause and its cure.

`explained` turns what file systems, catalogs and pyiceberg raise into a LakeError. None of it loses
rows: a batch that was not committed is written again when the query is started anew.
Above: everything in lake/.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from kafkaesque.errors import StartError

_CURES = {
    errno.ENOSPC: "make room there, or move the warehouse to a larger disk",
    errno.EDQUOT: "make room there, or ask for a larger quota",
    errno.EFBIG: "files of that size are not allowed here: ask for a larger limit",
    errno.EROFS: "it is mounted for reading alone: mount it for writing",
    errno.EACCES: "give this user the right to write there, or name another warehouse",
    errno.EPERM: "give this user the right to write there, or name another warehouse",
    errno.ENOTDIR: "name another warehouse, or move the file that is in the way",
    errno.EEXIST: "name another warehouse, or move the file that is in the way",
}
AGAIN = "nothing is lost: what was not committed is written again at the next start"


class LakeError(StartError):
    """The lake cannot be used like this; the message names the cause and the cure."""


@contextmanager
def explained(what: str) -> Iterator[None]:
    """`what` is what was tried, as in "write to lake.ticks"."""
    try:
        yield
    except OSError as error:
        cure = _CURES.get(error.errno or 0, "look at that place")
        raise LakeError(f"cannot {what} ({_text(error)}): {cure}; {AGAIN}") from error
    except Exception as error:
        if (told := _told(what, error)) is None:
            raise
        raise told from error


def _told(what: str, error: Exception) -> LakeError | None:
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    from sqlalchemy.exc import OperationalError

    if isinstance(error, NoSuchTableError | NoSuchNamespaceError):
        return LakeError(
            f"cannot {what}: there is no such table. If it was dropped, the next start of its "
            "pipeline makes it anew and fills it from the topic's beginning"
        )
    if isinstance(error, OperationalError):
        reason = str(error.orig)
        if "locked" in reason:
            cure = "another process holds it for long: end that, or wait until it has ended"
        elif "full" in reason:
            cure = _CURES[errno.ENOSPC]
        else:
            cure = "is its directory there, and may this user write in it?"
        return LakeError(f"cannot {what}, for its catalog says {reason!r}: {cure}; {AGAIN}")
    return None


def _text(error: OSError) -> str:
    return f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
