"""Patterns with `*` (any bytes, none too) and `?` (one byte), over bytes: keys need not be text.

    matches(b"dave*", b"dave-2")       does this key match?
    covers(b"dave*", b"dave-")         does *every* key that begins so match?

There is no escape: a pattern cannot mean a literal star or question mark. Matching goes back to
the last star alone, so that its time is at most pattern × text, whatever a client sends.
Above: access.py, origins.py.
"""

import re

_WILD_RUN = re.compile(rb"[*?]*\*[*?]*")
_STAR, _ANY = b"*?"


def tidy(pattern: bytes) -> bytes:
    """The same meaning in one spelling: in a run with a star, the question marks come first."""
    return _WILD_RUN.sub(lambda run: b"?" * run[0].count(b"?") + b"*", pattern)


def matches(pattern: bytes, text: bytes) -> bool:
    at = position = 0
    star, resume = -1, 0
    while position < len(text):
        if at < len(pattern) and pattern[at] == _STAR:
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in (_ANY, text[position]):
            at += 1
            position += 1
        elif star >= 0:
            # The last star takes one byte more.
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return not pattern[at:].strip(b"*")


def covers(pattern: bytes, prefix: bytes) -> bool:
    """Whether all that begins with `prefix` matches.

    Only a star at the end takes whatever follows. A pattern that ends with one and matches the
    prefix itself has reached that star within it.
    """
    pattern = tidy(pattern)
    return pattern.endswith(b"*") and matches(pattern, prefix)
